/** edgemcp/extensions: Add methods of your own to a server, as an extension of MCP. */
export { type Extension, type ExtensionHandler, extension } from '../../engine/extension.ts'
