/** @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion */
import { bounds } from '../../protocol/bounds.ts'
import { McpError } from '../../protocol/errors.ts'
import type { Completion, Params } from '../../protocol/types.ts'
import type { Completers } from '../../server/resource.ts'
import type { Registry } from '../../server/server.ts'
import { isVisible } from './lists.ts'
import { type Asked, type Method, readObject, readText, readTexts } from './method.ts'
import { findResource } from './resources.ts'

export const completes = (registry: Registry) =>
  [registry.prompts, registry.templates].some((entries) =>
    [...entries.values()].some((entry) => Object.keys(entry.complete).length > 0),
  )

export const complete: Method = {
  offered: completes,
  async answer(asked) {
    const { params } = asked.call
    const argument = readObject(params, 'argument')
    const name = readText(argument, 'name', 'params.argument')
    const prefix = readText(argument, 'value', 'params.argument')
    const known = readTexts(readObject(params, 'context'), 'arguments', 'params.context')
    const { names, completers, owner } = await referred(asked, readObject(params, 'ref'))
    if (!names.includes(name)) throw new McpError('invalid_params', `${owner} has no argument "${name}"`)
    const completer = Object.hasOwn(completers, name) ? completers[name] : undefined
    return { completion: completer ? await complement(completer, prefix, known) : { values: [], hasMore: false } }
  },
}

async function complement(
  completer: NonNullable<Completers<Record<string, string>>[string]>,
  prefix: string,
  known: Record<string, string>,
): Promise<Completion> {
  const found = await completer(prefix, known)
  const { values, total, hasMore }: Exclude<Found, readonly string[]> = isList(found) ? { values: found } : found
  return {
    values: values.slice(0, bounds.completionValues),
    total: total ?? (hasMore ? undefined : values.length),
    hasMore: hasMore === true || values.length > bounds.completionValues,
  }
}

type Found = readonly string[] | { values: readonly string[]; total?: number; hasMore?: boolean }
const isList = (found: Found): found is readonly string[] => Array.isArray(found)

/** What a reference points at: the names it may complete, and how. */
async function referred({ server, call }: Asked, ref: Params) {
  const caller = { principal: call.principal }
  if (ref.type === 'ref/prompt') {
    const name = readText(ref, 'name', 'params.ref')
    const prompt = server.registry.prompts.get(name)
    if (!prompt || !(await isVisible(prompt, caller))) throw new McpError('invalid_params', `Unknown prompt: ${name}`)
    const names = (prompt.item.arguments ?? []).map((argument) => argument.name)
    return { names, completers: prompt.complete, owner: `The prompt "${name}"` }
  }
  if (ref.type === 'ref/resource') {
    const uri = readText(ref, 'uri', 'params.ref')
    const resource = server.registry.templates.get(uri) ?? findResource(server.registry, uri)?.resource
    if (!resource || !(await isVisible(resource, caller))) {
      throw new McpError('invalid_params', `Unknown resource template: ${uri}`)
    }
    return { names: resource.template?.names ?? [], completers: resource.complete, owner: `The resource "${uri}"` }
  }
  throw new McpError('invalid_params', 'params.ref.type must be "ref/prompt" or "ref/resource"')
}
