import { isObject } from './jsonrpc.ts'

/** JSON with the members of each object in the order of their names: equal values have equal texts. */
export const canonicalJson = (value: unknown): string => JSON.stringify(value, sorted)

const sorted = (_: string, value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) : value
