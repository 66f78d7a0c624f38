/** edgemcp/apps: Show the results of tools in an interface that hosts draw (MCP Apps). */
export { type App, type AppOptions, app } from './app.ts'
