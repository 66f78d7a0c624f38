/** edgemcp/inspector: Serve a browser client at `/`, for developers and operators. */
export { type InspectorOptions, inspector } from './inspector.ts'
