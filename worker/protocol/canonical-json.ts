import { isObject } from './jsonrpc.ts'

/** Returns JSON with the members of each object sorted by name: equal values have equal texts. */
export const canonicalJson = (value: unknown): string => JSON.stringify(value, sorted)

const sorted = (_: string, value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) : value
