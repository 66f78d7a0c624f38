/** edgemcp/extensions: what a server offers besides the protocol itself. */
export { type Extension, type ExtensionHandler, extension } from '../../engine/extension.ts'
