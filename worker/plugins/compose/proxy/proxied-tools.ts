import { mirroringProblem } from '../../../declarations/check-declarations.ts'
import { preview } from '../../../declarations/check-options.ts'
import { toolName } from '../../../declarations/option-kinds.ts'
import type { SelectedTools, ToolOverride } from '../../../declarations/tool-selection.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import { parameterHeaders } from '../../../protocol/param-headers.ts'
import type { JsonSchema, Params } from '../../../protocol/types.ts'
import { KnownTools } from './known-tools.ts'
import type { RemoteCall } from './send-request.ts'
import type { UpstreamHeaders } from './upstream-headers.ts'

/** The tools of an upstream: those that this server has, with their changes, and what their calls need to know. */
export class ProxiedTools {
  readonly #selected: SelectedTools
  readonly #known = new KnownTools()
  #hasReportedUnknown = false
  #hasReportedTaken = false

  constructor(selected: SelectedTools) {
    this.#selected = selected
  }

  /**
   * Returns the tools of this server, with the prefix. Those that clients must reject are left out, and their calls are refused.
   *
   * @param listed as the upstream lists them for the headers
   * @returns `invalid`: why tools are left out
   */
  read(headers: UpstreamHeaders, listed: readonly Params[], prefix: string): { tools: Params[]; invalid: string[] } {
    const invalid = new Map<Params, string>()
    for (const tool of listed) {
      const problem = isObject(tool.inputSchema) ? mirroringProblem(tool.inputSchema) : undefined
      if (problem) invalid.set(tool, `the inputSchema of ${preview(tool.name)} is invalid: ${problem}`)
      const name = prefix + this.#selected.nameOf(String(tool.name))
      if (toolName.test(name) || !this.#selected.has(String(tool.name))) continue
      invalid.set(
        tool,
        `the name ${preview(name)} must be 1 to 128 letters, digits, "_", "." or "-": rename the tool with "tools" of proxy()`,
      )
    }
    const tools = listed
      .filter((tool) => !invalid.has(tool))
      .map((tool) => changed(tool, this.#selected.overrides.get(String(tool.name))))
    const refused = [...invalid.keys()].map(({ name }) => name)
    this.#known.refuse(headers, refused)
    this.#known.learn(headers, tools)
    const offered = tools
      .filter(({ name }) => this.#selected.has(String(name)) && !this.#selected.isTaken(String(name)))
      .map((tool) => ({ ...tool, name: prefix + this.#selected.nameOf(String(tool.name)) }))
    return { tools: offered, invalid: [...invalid.values()] }
  }

  /** Returns problems of the options with a complete list, each once. @param what names the proxy */
  problemsWith(listed: readonly Params[], what: string): Error[] {
    const names = listed.map(({ name }) => String(name))
    const taken = this.#hasReportedTaken ? [] : names.filter((name) => this.#selected.isTaken(name))
    if (taken.length > 0) this.#hasReportedTaken = true
    const unknown = this.#hasReportedUnknown ? [] : this.#selected.findUnknown(names)
    if (unknown.length > 0) this.#hasReportedUnknown = true
    return [
      ...taken.map((name) => `${what} leaves out "${name}" of the upstream: "tools" gives its name to another tool`),
      ...(unknown.length > 0
        ? [`${what}: ${unknown.join(', ')}, which the upstream does not list for this caller`]
        : []),
    ].map((problem) => new Error(problem))
  }

  /**
   * Returns how a call is sent: whether it may be sent again, and the headers that repeat arguments; `undefined` for a call that must not be
   * sent.
   *
   * @param params of `tools/call`
   */
  sending(headers: UpstreamHeaders, params: Params): Pick<RemoteCall, 'isSafeToRetry' | 'mirrored'> | undefined {
    const { isSafeToRetry = false, mirrored = [], isRefused } = this.#known.get(headers, params.name) ?? {}
    if (isRefused) return undefined
    return { isSafeToRetry, mirrored: parameterHeaders(mirrored, params.arguments) }
  }

  /** Whether a list for these headers had a tool. @param name on the upstream */
  isKnown(headers: UpstreamHeaders, name: string): boolean {
    return this.#known.get(headers, name) !== undefined
  }

  /** Returns the output schema of a tool, with its `type` only. Stores for a tool that no list had that it has none. @param name on the upstream */
  outputSchemaOf(headers: UpstreamHeaders, name: string): JsonSchema | undefined {
    if (!this.isKnown(headers, name)) this.#known.setUnlisted(headers, name)
    return this.#known.get(headers, name)?.outputSchema
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
