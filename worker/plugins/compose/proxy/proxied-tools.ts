import type { SelectedTools, ToolOverride } from '../../../declarations/tool-selection.ts'
import { BoundedMap } from '../../../protocol/bounded-map.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import type { Params } from '../../../protocol/types.ts'
import { Mirrored } from './mirrored.ts'

/** Tools in memory whose calls may be sent again. */
const maxSafeToRetry = 10_000

/** The tools of an upstream: those that this server has, with their changes, and what their calls need to know. */
export class ProxiedTools {
  readonly #selected: SelectedTools
  readonly #mirrored = new Mirrored()
  /** Names of tools whose calls may be sent again: their annotations say that they only read, or are idempotent. */
  readonly #safeToRetry = new BoundedMap<unknown, true>({ maxEntries: maxSafeToRetry })
  #hasReportedUnknown = false

  constructor(selected: SelectedTools) {
    this.#selected = selected
  }

  /** Returns the tools of this server, without prefix. @param listed as the upstream lists them */
  read(listed: readonly Params[]): Params[] {
    const tools = listed.map((tool) => changed(tool, this.#selected.overrides.get(String(tool.name))))
    this.#mirrored.learn(tools)
    for (const { name, annotations } of tools) {
      const isSafe = isObject(annotations) && (annotations.readOnlyHint === true || annotations.idempotentHint === true)
      if (isSafe) this.#safeToRetry.set(name, true)
      else this.#safeToRetry.delete(name)
    }
    return tools
      .filter(({ name }) => this.#selected.has(String(name)))
      .map((tool) => ({ ...tool, name: this.#selected.nameOf(String(tool.name)) }))
  }

  /** Returns the names in the options that a complete list lacks. Only once: then it returns none. */
  findUnknown(listed: readonly Params[]): string[] {
    if (this.#hasReportedUnknown) return []
    const unknown = this.#selected.findUnknown(listed.map(({ name }) => String(name)))
    this.#hasReportedUnknown = unknown.length > 0
    return unknown
  }

  /** Returns the headers of a call. @param params of `tools/call` */
  headers(params: Params): Record<string, string> {
    return this.#mirrored.headers(params)
  }

  /** Whether a call may be sent again. @param name on the upstream */
  isSafeToRetry(name: unknown): boolean {
    return this.#safeToRetry.has(name)
  }
}

function changed(tool: Params, override: ToolOverride | undefined): Params {
  if (!override) return tool
  const { title = tool.title, description = tool.description, annotations, outputSchema = tool.outputSchema } = override
  const { outputSchema: _, ...others } = tool
  return {
    ...others,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(annotations && { annotations: { ...(isObject(tool.annotations) && tool.annotations), ...annotations } }),
    ...(outputSchema !== undefined && outputSchema !== false && { outputSchema }),
  }
}
