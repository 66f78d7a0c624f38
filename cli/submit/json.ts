/** JSON of files and pages, whose members are unknown. */
export type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns `undefined` for a text that is not JSON. Some editors begin a file with a byte order mark. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''))
  } catch {
    return undefined
  }
}

/** JSON as people edit it. */
export const jsonText = (value: object): string => `${JSON.stringify(value, null, 2)}\n`
