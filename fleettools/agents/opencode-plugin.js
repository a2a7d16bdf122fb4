// Tells fleettools what becomes of a turn: put here by `fleet-hook --install opencode`, taken out by `--remove`.
// It hands each event to fleet-hook and never waits for it.
import { spawn } from "node:child_process"

const WANTED = new Set(["session.status", "session.idle", "session.error", "permission.asked", "question.asked"])

export const Fleettools = async () => {
  const children = new Set()
  return {
    event: async ({ event }) => {
      const about = event.properties ?? {}
      if (event.type === "session.created" && about.info?.parentID) children.add(about.info.id)
      if (!WANTED.has(event.type) || children.has(about.sessionID)) return
      const status = about.status?.type
      if (event.type === "session.status" && status !== "busy") return
      try {
        const child = spawn("fleet-hook", ["--agent", "opencode", "--post"], { stdio: ["pipe", "ignore", "ignore"] })
        child.on("error", () => {})
        child.stdin.on("error", () => {})
        child.stdin.end(JSON.stringify({ event: { type: event.type, properties: about } }))
        child.unref()
      } catch {}
    },
  }
}
