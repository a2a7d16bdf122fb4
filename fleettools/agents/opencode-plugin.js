// Tells fleettools what becomes of a turn: put here by `fleet-hook --install opencode`, taken out by `--remove`.
// It hands each word to fleet-hook, once a turn, and never waits for it.
import { spawn } from "node:child_process"

const LONG_WAIT = 15 * 60 * 1000 // who waits longer for its next try has used something up

export const Fleettools = async () => {
  const children = new Set() // sessions of agents in the background
  const turns = new Map() // by session: the id of its last prompt, and what was said of that turn

  // Whether this is news of the turn: a session is busy at each of its steps, and idle after an error, too.
  const isNews = (type, about, turn) => {
    if (type === "permission.asked" || type === "question.asked") return true
    if (type === "session.error") return turn.said !== "error" && (turn.said = "error")
    if (type === "session.idle") return turn.said === "busy" && (turn.said = "idle")
    if (type !== "session.status") return false
    if (about.status?.type === "busy") return !turn.said && (turn.said = "busy")
    const waits = about.status?.type === "retry" && about.status.next > Date.now() + LONG_WAIT
    return waits && turn.said !== "error" && (turn.said = "error")
  }

  return {
    event: async ({ event }) => {
      try {
        const about = event.properties ?? {}
        const session = about.sessionID ?? about.info?.sessionID
        if (event.type === "session.created" && about.info?.parentID) children.add(about.info.id)
        if (children.has(session)) return
        if (event.type === "message.updated" && about.info?.role === "user") {
          if (turns.get(session)?.prompt !== about.info.id) turns.set(session, { prompt: about.info.id, said: "" })
          return
        }
        const turn = turns.get(session) ?? { said: "" }
        if (session) turns.set(session, turn)
        if (!isNews(event.type, about, turn)) return
        const child = spawn("fleet-hook", ["--agent", "opencode", "--post"], { stdio: ["pipe", "ignore", "ignore"] })
        child.on("error", () => {})
        child.stdin.on("error", () => {})
        child.stdin.end(JSON.stringify({ event: { type: event.type, properties: about }, prompt: turn.prompt }))
        child.unref()
      } catch {}
    },
  }
}
