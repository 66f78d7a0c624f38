/** @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools */

import type { Declarations } from '../../declarations/declarations.ts'
import { toolError } from '../../declarations/result-constructors.ts'
import { callToolResult } from '../../declarations/returned-values.ts'
import { type Checked, issuesText } from '../../declarations/schema.ts'
import type { Tool } from '../../declarations/tool.ts'
import { isA, McpError } from '../../protocol/errors.ts'
import type { HeaderParameter } from '../../protocol/param-headers.ts'
import type { Call } from '../call.ts'
import { callerOf } from '../caller.ts'
import { reportInStep, toolFailure } from '../failure.ts'
import { listMethod } from './lists.ts'
import {
  callHandler,
  type Method,
  type MethodContext,
  readEntryName,
  readObject,
  readText,
  type Target,
} from './method.ts'

const offered = (declarations: Declarations) => declarations.tools.size > 0

export const listTools: Method = {
  offered,
  answer(context) {
    const { caller } = context
    const tools = [...context.server.declarations.tools.values()]
    const itemOf = async ({ item, inputOf }: Tool) =>
      inputOf ? { ...item, inputSchema: (await inputOf(caller)).input.jsonSchema } : item
    const isPersonal = tools.some(({ inputOf }) => inputOf)
    return listMethod(context, 'tools', tools, (item) => item.name, isPersonal ? itemOf : undefined)
  },
}

export const callTool: Method = {
  named: 'name',
  offered,
  names: ({ name }) => readEntryName('tool', name),
  async answer(context) {
    const { call, target } = context
    const name = readText(call.params, 'name')
    const { tool } = target.found
    if (!tool || !(await target.isVisible(tool, context))) {
      throw new McpError('invalid_params', `Unknown tool: ${name}`)
    }
    const checked = await checkInput(tool, context)
    // A result, not an error, so that the model can correct itself.
    if ('issues' in checked) return toolError(`Invalid arguments for ${name}: ${issuesText(checked.issues)}`)
    return await runHandler(tool, checked.value, context)
  },
}

/** Validates the arguments of a call with the schema of its caller. @throws what the schema or the function that returns it throws */
export async function checkInput(tool: Tool, context: Pick<MethodContext, 'call' | 'caller'>): Promise<Checked> {
  const args = readObject(context.call.params, 'arguments')
  return (tool.inputOf ? await tool.inputOf(context.caller) : tool).input.check(args)
}

async function runHandler(tool: Tool, input: unknown, methodContext: MethodContext) {
  const { server, call, environment, context } = methodContext
  try {
    return await callToolResult(
      await callHandler(methodContext, 'tool', tool, input, context),
      tool.output,
      tool.item.name,
    )
  } catch (thrown) {
    methodContext.thrown = thrown
    if (isA(McpError, thrown)) {
      // The model can do something about it.
      const isReported =
        thrown.kind === 'client_error' ||
        thrown.kind === 'invalid_handle' ||
        // Too late for a challenge: the call has begun.
        thrown.kind === 'insufficient_scope' ||
        (thrown.kind === 'missing_client_capability' && !call.revision.stateless)
      if (!isReported) throw thrown
      return toolError(thrown.message)
    }
    return toolFailure(thrown, () => reportInStep(server.declarations, call, environment, thrown))
  }
}

/** Returns the arguments that a call must repeat in headers: none for a tool that the caller may not use. */
export async function mirroredParameters(tool: Tool, call: Call, target: Target): Promise<readonly HeaderParameter[]> {
  const caller = callerOf({ ...call, protocolVersion: call.revision.date })
  if (!(await target.isVisible(tool, { caller }))) return []
  return tool.inputOf ? (await tool.inputOf(caller)).mirrored : tool.mirrored
}
