import { isObject } from '../../../protocol/jsonrpc.ts'

/** Capabilities that are forwarded. */
export const features = ['tools', 'prompts', 'resources', 'completions'] as const
export type Feature = (typeof features)[number]

/** The capabilities of an upstream that this server uses. Their contents, of any size, are not stored. */
export type Offered = ReadonlySet<Feature | 'logging'>

/** Returns what an upstream declares. Several SDKs write `null` for absent capabilities. */
export function offeredIn(capabilities: unknown): Offered {
  const declared = isObject(capabilities) ? capabilities : {}
  return new Set([...features, 'logging' as const].filter((name) => (declared[name] ?? undefined) !== undefined))
}
