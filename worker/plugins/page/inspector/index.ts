/** edgemcp/inspector: a client in the server's own page, for whoever develops or looks after it. */
export { type InspectorOptions, inspector } from './inspector.ts'
