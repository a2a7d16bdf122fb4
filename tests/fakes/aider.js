// The same as aider.py, by node.
const [log] = process.argv.slice(2)
const prompt = "─".repeat(60) + "\n> "
process.stdout.write("Aider v0.86.1\n\n" + prompt)
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  require("fs").appendFileSync(log, JSON.stringify({ submitted: line }) + "\n")
  process.stdout.write("\nUnderstood.\n\nTokens: 1.2k sent, 30 received.\n" + prompt)
})
