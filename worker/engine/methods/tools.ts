/** @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools */
import { McpError } from '../../protocol/errors.ts'
import type { MirroredParameter } from '../../protocol/mirror.ts'
import type { Result, ToolItem } from '../../protocol/types.ts'
import { callToolResult, failureOf, toolError } from '../../server/content.ts'
import { issuesText } from '../../server/schema.ts'
import type { Registry } from '../../server/server.ts'
import type { Tool } from '../../server/tool.ts'
import type { Call } from '../call.ts'
import { isVisible, listing } from './lists.ts'
import { type Asked, type Method, readObject, readText } from './method.ts'

const offered = (registry: Registry) => registry.tools.size > 0

export const listTools: Method = {
  offered,
  answer: (asked) => listing(asked, 'tools', asked.server.registry.tools.values(), (item) => (item as ToolItem).name),
}

export const callTool: Method = {
  named: 'name',
  offered,
  async answer(asked) {
    const { server, call } = asked
    const name = readText(call.params, 'name')
    const tool = server.registry.tools.get(name)
    if (!tool || !(await isVisible(tool, { principal: call.principal }))) {
      throw new McpError('invalid_params', `Unknown tool: ${name}`)
    }
    const args = readObject(call.params, 'arguments')
    // Models like to send something: what a tool does not take, it does not get.
    const checked = tool.input ? await tool.input.check(args) : { value: {} }
    // The model can correct itself, so it is told as a result.
    if ('issues' in checked) return toolError(`Invalid arguments for ${name}: ${issuesText(checked.issues)}`) as Result
    return (await work(tool, checked.value, asked)) as Result
  },
}

async function work(tool: Tool, input: unknown, { call, world, context }: Asked) {
  try {
    return await callToolResult(await tool.handler(input, context), tool.output, tool.item.name)
  } catch (thrown) {
    if (thrown instanceof McpError) {
      if (thrown.kind === 'internal_error') world.report(thrown)
      // The model can do something about it.
      const told =
        thrown.kind === 'client_refused' ||
        thrown.kind === 'unknown_handle' ||
        // Too late for a challenge: the call has begun.
        thrown.kind === 'insufficient_scope' ||
        (thrown.kind === 'missing_client_capability' && !call.revision.stateless)
      if (!told) throw thrown
      return toolError(thrown.message)
    }
    if (!world.signal().aborted) world.report(thrown)
    return failureOf(thrown)
  }
}

/** The arguments that a call must repeat in headers; none for anything but a tool that this caller may use. */
export async function mirroredIn(registry: Registry, call: Call): Promise<readonly MirroredParameter[]> {
  const tool = call.method === 'tools/call' ? registry.tools.get(call.params.name as string) : undefined
  return tool?.mirrored.length && (await isVisible(tool, { principal: call.principal })) ? tool.mirrored : []
}
