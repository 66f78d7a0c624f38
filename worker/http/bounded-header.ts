import * as bounds from '../protocol/bounds.ts'
import { McpError } from '../protocol/errors.ts'

/** Bounds in characters. `Mcp-Session-Id` and the token are bounded where they are unsealed or verified. */
const limits = {
  Accept: bounds.headerCharacters,
  'Content-Type': bounds.headerCharacters,
  'Last-Event-ID': bounds.eventIdCharacters,
  'MCP-Protocol-Version': bounds.versionCharacters,
} as const

/** Reads a header. @returns `null` without it. @throws McpError `invalid_request` for a header beyond its bound */
export function boundedHeader({ headers }: Request, name: keyof typeof limits): string | null {
  const value = headers.get(name)
  const limit = limits[name]
  if (value === null || value.length <= limit) return value
  throw new McpError(
    'invalid_request',
    `Header ${name} has ${value.length} characters: this server accepts at most ${limit}`,
  )
}
