/** edgemcp/compose: servers made of others, and Workers made of several. */

export type { ForwardedEntry } from '../server/forwarded.ts'
export { type Face, type FaceEndpoint, type FaceOptions, type FaceRpc, face } from './face.ts'
export { byHost } from './hosts.ts'
export { type MountOptions, mount } from './mount.ts'
export { proxy } from './proxy/proxy.ts'
export type { ProxyOptions } from './proxy/proxy-options.ts'
export { byTenant, type WorkerFor } from './tenants.ts'
export { type Asks, type Elsewhere, first, own } from './workers.ts'
