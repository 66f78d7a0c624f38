/** @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion */

import type { CallerContext } from '../../declarations/caller.ts'
import type { Declarations } from '../../declarations/declarations.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { Resource } from '../../declarations/resource.ts'
import { brokenList } from '../../declarations/returned-values.ts'
import * as bounds from '../../protocol/bounds.ts'
import { McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Completion, Params } from '../../protocol/types.ts'
import { type Method, type MethodContext, readEntryName, readObject, readText, readTexts } from './method.ts'

export const hasCompletions = (declarations: Declarations) =>
  [declarations.prompts, declarations.templates].some((entries) =>
    [...entries.values()].some((entry) => Object.keys(entry.complete).length > 0),
  )

export const complete: Method = {
  offered: hasCompletions,
  names({ ref }) {
    const { type, name, uri } = isObject(ref) ? ref : {}
    return type === 'ref/prompt' ? readEntryName('prompt', name) : readEntryName('template', uri)
  },
  async answer(context) {
    const { params } = context.call
    const argument = readObject(params, 'argument')
    const name = readText(argument, 'name', 'params.argument')
    const prefix = readText(argument, 'value', 'params.argument')
    const variables = readTexts(readObject(params, 'context'), 'arguments', 'params.context')
    const { names, completers, declaration, resource } = await readReference(context, readObject(params, 'ref'))
    const owner = `The ${declaration}`
    if (!names.includes(name)) throw new McpError('invalid_params', `${owner} has no argument "${name}"`)
    const completer = Object.hasOwn(completers, name) ? completers[name] : undefined
    if (!completer) return { completion: { values: [], hasMore: false } }
    const { caller } = context
    const found: unknown = await completer(prefix, variables, caller)
    const completion = readCompletion(found, name, declaration)
    return {
      completion: resource
        ? await omitUnreadable(completion, resource, { name, known: variables }, caller)
        : completion,
    }
  },
}

/** @param name of the argument. @throws McpError `internal_error` for a value that is no completion */
function readCompletion(found: unknown, name: string, declaration: string): Completion {
  const { values, total, hasMore }: Params = isObject(found) ? found : { values: found }
  if (!isTexts(values) || !kind.size[0](total ?? 0) || !kind.flag[0](hasMore ?? false)) {
    const expected = 'a list of strings, or { values, total, hasMore }'
    throw brokenList(`complete.${name}`, declaration, found, isText, expected)
  }
  return {
    values: values.slice(0, bounds.completionValues),
    total: typeof total === 'number' ? total : hasMore ? undefined : values.length,
    hasMore: hasMore === true || values.length > bounds.completionValues,
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isTexts = (value: unknown): value is string[] => kind.isListOf(value, isText)

/** Omits values of resources that the caller may not read, if all variables that each URI of the template has are known. */
async function omitUnreadable(
  completion: Completion,
  { template, authorize, filterCompletions }: Resource,
  { name, known: context }: { name: string; known: Record<string, string> },
  caller: CallerContext,
): Promise<Completion> {
  if (!template || !authorize || !filterCompletions) return completion
  if (!template.required.every((text) => text === name || Object.hasOwn(context, text))) return completion
  const { values, hasMore } = completion
  const allowed = await Promise.all(
    values.map(async (value) => {
      // As a read of its URI would find them: lists as lists.
      const variables = template.match(template.expand({ ...context, [name]: value }))
      return variables !== undefined && (await authorize(caller, variables)) === true
    }),
  )
  // A total would count the resources that the caller may not read.
  return { values: values.filter((_, index) => allowed[index]), hasMore }
}

/** Reads the reference of a request: the names that can be completed, and their completers. */
async function readReference(context: MethodContext, ref: Params) {
  const { target } = context
  if (ref.type === 'ref/prompt') {
    const name = readText(ref, 'name', 'params.ref')
    const { prompt } = target.found
    if (!prompt || !(await target.isVisible(prompt, context)))
      throw new McpError('invalid_params', `Unknown prompt: ${name}`)
    const names = (prompt.item.arguments ?? []).map((argument) => argument.name)
    return { names, completers: prompt.complete, declaration: `prompt "${name}"`, resource: undefined }
  }
  if (ref.type === 'ref/resource') {
    const uri = readText(ref, 'uri', 'params.ref')
    const { resource } = target.found
    if (!resource || !(await target.isVisible(resource, context))) {
      throw new McpError('invalid_params', `Unknown resource template: ${uri}`)
    }
    return {
      names: resource.template?.names ?? [],
      completers: resource.complete,
      declaration: `resource "${uri}"`,
      resource,
    }
  }
  throw new McpError('invalid_params', 'params.ref.type must be "ref/prompt" or "ref/resource"')
}
