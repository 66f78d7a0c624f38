/** The Worker that the root wrangler.toml runs: a server to play with. */
export { default, McpSession, McpSubscriptions, Notebook } from '../examples/notes/index.ts'
