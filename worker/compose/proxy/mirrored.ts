import { isObject } from '../../protocol/jsonrpc.ts'
import { type MirroredParameter, mirroredHeaders, mirroredParameters } from '../../protocol/mirror.ts'
import type { Params } from '../../protocol/types.ts'

/**
 * The arguments that calls of a server's tools repeat in headers, as far as its lists have told.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports#custom-headers-from-tool-parameters
 */
export class Mirrored {
  readonly #byTool = new Map<unknown, readonly MirroredParameter[]>()

  /** @param tools as the server lists them */
  learn(tools: readonly Params[]): void {
    for (const { name, inputSchema } of tools) {
      this.#byTool.set(name, isObject(inputSchema) ? mirroredParameters(inputSchema) : [])
    }
  }

  /** @param params of `tools/call` */
  headers({ name, arguments: args }: Params): Record<string, string> {
    return mirroredHeaders(this.#byTool.get(name) ?? [], args)
  }
}
