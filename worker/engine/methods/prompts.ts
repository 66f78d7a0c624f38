/** @see https://modelcontextprotocol.io/specification/2026-07-28/server/prompts */

import type { Declarations } from '../../declarations/declarations.ts'
import { getPromptResult } from '../../declarations/returned-values.ts'
import { issuesText } from '../../declarations/schema.ts'
import { McpError } from '../../protocol/errors.ts'
import { listMethod } from './lists.ts'
import { callHandler, type Method, readEntryName, readText, readTexts } from './method.ts'

const offered = (declarations: Declarations) => declarations.prompts.size > 0

export const listPrompts: Method = {
  offered,
  answer: (context) =>
    listMethod(context, 'prompts', context.server.declarations.prompts.values(), (item) => item.name),
}

export const getPrompt: Method = {
  named: 'name',
  offered,
  names: ({ name }) => readEntryName('prompt', name),
  async answer(methodContext) {
    const { call, target, context } = methodContext
    const name = readText(call.params, 'name')
    const { prompt } = target.found
    if (!prompt || !(await target.isVisible(prompt, methodContext))) {
      throw new McpError('invalid_params', `Unknown prompt: ${name}`)
    }
    const args = readTexts(call.params, 'arguments')
    const checked = prompt.args ? await prompt.args.check(args) : { value: {} }
    if ('issues' in checked) {
      throw new McpError('invalid_params', `Invalid arguments for ${name}: ${issuesText(checked.issues)}`)
    }
    const value = await callHandler(methodContext, 'prompt', prompt, checked.value, context)
    return getPromptResult(value, prompt.item.description, name)
  },
}
