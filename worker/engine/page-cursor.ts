/** Cursors for tools that return pages: positions that only this server can read. */
import { checkOptions, checkValue, isObject, type KindsOf } from '../declarations/check-options.ts'
import type { Context } from '../declarations/context.ts'
import { type Duration, milliseconds } from '../declarations/duration.ts'
import * as kind from '../declarations/option-kinds.ts'
import * as bounds from '../protocol/bounds.ts'
import { McpError } from '../protocol/errors.ts'
import { jsonText } from '../protocol/json-text.ts'
import type { CallEnvironment } from './call.ts'
import { environmentKey } from './call-context.ts'

/** Configures `pageCursor()`. */
export type PageCursorOptions = {
  /** Duration for which a cursor is valid. Default: 1 day. */
  ttl?: Duration
}

/** Converts the position of a page into a cursor, and back. `T` is the type of a position. */
export interface PageCursor<T> {
  /**
   * Returns a cursor for the position of the next page. The client and the model cannot read it.
   *
   * @param position any JSON value, such as the sort key and the id of the last entry
   * @throws Error for a position without a JSON form, and for one with more than about 24,000 bytes of JSON
   */
  seal(ctx: Context, position: T): Promise<string>
  /**
   * Returns the position of a cursor; `undefined` for a call without a cursor, which requests the first page.
   *
   * @throws McpError `invalid_handle` for a cursor that has another name, principal or server, was changed, or has expired. The model can
   * read it
   */
  open(ctx: Context, cursor: string | undefined): Promise<T | undefined>
}

const kinds: KindsOf<PageCursorOptions> = { ttl: kind.duration }

/**
 * Creates the cursors of a tool that returns its result in pages: an argument of the tool, and a part of its result. A cursor is encrypted,
 * and valid for the principal that received it. Nothing is stored.
 *
 * @param name distinguishes these cursors from others of the server. Tools with the same name accept each other's cursors
 * @throws Error at startup for an empty name or an invalid option. The message names the fix
 * @see https://www.rfc-editor.org/rfc/rfc5116
 *
 * @example
 * const position = pageCursor<number>('squares')
 * const inputSchema = z.object({ cursor: z.string().optional() })
 * server.tool('squares', { description: 'List squares', inputSchema }, async ({ cursor }, ctx) => {
 *   const start = (await position.open(ctx, cursor)) ?? 0
 *   const squares = Array.from({ length: 20 }, (_, index) => (start + index) ** 2)
 *   return `${squares.join(', ')}. Cursor of the next page: ${await position.seal(ctx, start + 20)}`
 * })
 */
export function pageCursor<T>(name: string, options: PageCursorOptions = {}): PageCursor<T> {
  checkValue('pageCursor()', 'name', name, kind.name)
  checkOptions('pageCursor()', options, kinds)
  const lifetimeMs = milliseconds(options.ttl ?? '1d', `The ttl of the cursor "${name}"`)
  const purpose = `page cursor:${name}`
  return {
    async seal(ctx, position) {
      const seals = sealsIn(ctx)
      if (jsonText(position, `The position of a cursor of "${name}" has`) === undefined) {
        throw new TypeError(`The position of a cursor of "${name}" is undefined: return no cursor after the last page`)
      }
      const cursor = await seals.seal(purpose, position, lifetimeMs)
      if (cursor.length <= bounds.cursorCharacters) return cursor
      throw new RangeError(
        `The position of a cursor of "${name}" is too long: the cursor has more than ${bounds.cursorCharacters} characters. Put the key of the last entry into it`,
      )
    },
    async open(ctx, cursor) {
      const seals = sealsIn(ctx)
      if (cursor === undefined) return undefined
      const isCursor = typeof cursor === 'string' && cursor.length <= bounds.cursorCharacters
      const position = isCursor ? await seals.open(purpose, cursor) : undefined
      // `seal` sealed it, for the same purpose.
      if (position !== undefined) return position as T
      throw new McpError(
        'invalid_handle',
        `This cursor of "${name}" is unknown or expired: start again without a cursor`,
      )
    },
  }
}

/** Returns the seals of a call. @throws Error for another value in the place of the context */
function sealsIn(ctx: Context): CallEnvironment['seals'] {
  const environment = isObject(ctx) ? Reflect.get(ctx, environmentKey) : undefined
  if (!environment) throw new Error('pageCursor needs the ctx of the handler as the first argument')
  // `CallContext` has it under this symbol.
  return (environment as CallEnvironment).seals
}
