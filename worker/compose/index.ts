/** edgemcp/compose: servers made of others, and Workers made of several. */
export { type Around, around, type MethodCall, type Next } from './around.ts'
export { type Face, type FaceOptions, type FaceRpc, face } from './face.ts'
export { type MountOptions, mount } from './mount.ts'
export { type ProxyOptions, proxy } from './proxy/proxy.ts'
export { type Elsewhere, first, own } from './workers.ts'
