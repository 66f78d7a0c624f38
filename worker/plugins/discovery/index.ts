/** edgemcp/discovery: Publish what clients, registries and directories read before they connect: a server card and catalogs. */
export { type DiscoveryOptions, discovery, type OtherEndpoint, type Repository } from './discovery.ts'
