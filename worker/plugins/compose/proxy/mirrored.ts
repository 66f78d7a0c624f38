import { BoundedMap } from '../../../protocol/bounded-map.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import { type HeaderParameter, headerParameters, parameterHeaders } from '../../../protocol/param-headers.ts'
import type { Params } from '../../../protocol/types.ts'

/** Tools with mirrored arguments in memory. The upstream rejects a call of another tool, and its list is read again. */
const maxTools = 1000

/**
 * The arguments of an upstream's tools that calls repeat in headers, as far as its lists have been read.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters
 */
export class Mirrored {
  readonly #byTool = new BoundedMap<unknown, readonly HeaderParameter[]>({ maxEntries: maxTools })

  /** Stores the mirrored arguments of tools. @param tools as the upstream lists them */
  learn(tools: readonly Params[]): void {
    for (const { name, inputSchema } of tools) {
      const parameters = isObject(inputSchema) ? headerParameters(inputSchema) : []
      if (parameters.length > 0) this.#byTool.set(name, parameters)
      else this.#byTool.delete(name)
    }
  }

  /** Returns the headers of a call. @param params of `tools/call` */
  headers({ name, arguments: args }: Params): Record<string, string> {
    return parameterHeaders(this.#byTool.get(name) ?? [], args)
  }
}
