/** edgemcp/apps: interfaces that travel with tools. */
export { type App, type AppOptions, app } from './app.ts'
