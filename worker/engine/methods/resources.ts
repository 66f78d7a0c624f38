/** @see https://modelcontextprotocol.io/specification/2026-07-28/server/resources */

import type { CallerContext } from '../../declarations/caller.ts'
import type { Declarations } from '../../declarations/declarations.ts'
import { isListOf } from '../../declarations/option-kinds.ts'
import { describing, readOptional } from '../../declarations/optional-members.ts'
import type { Resource } from '../../declarations/resource.ts'
import { brokenList, readResourceResult, resourceNotFound } from '../../declarations/returned-values.ts'
import * as bounds from '../../protocol/bounds.ts'
import { normalizeTopicUri } from '../../protocol/changes.ts'
import { McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params, ResourceItem } from '../../protocol/types.ts'
import { normalizeUri, uriProblem } from '../../protocol/uri.ts'
import { leavingOut } from '../failure.ts'
import { isPermitted, listMethod, page, uncached, variesByCaller, visibleEntries } from './lists.ts'
import { callHandler, type Found, type Method, readEntryName, readText } from './method.ts'

export const hasResources = (declarations: Declarations) =>
  declarations.resources.size > 0 || declarations.templates.size > 0

export const listResources: Method = {
  offered: hasResources,
  async answer(context) {
    const { resources, templates } = context.server.declarations
    const { caller } = context
    const all = [...resources.values(), ...templates.values()]
    const leaveOut = leavingOut(context)
    const seen = await visibleEntries(all, caller, leaveOut)
    const listed = await Promise.all(seen.map((resource) => listedBy(resource, caller).catch(leaveOut)))
    const personal = all.some((resource) => resource.list || variesByCaller(resource))
    return page(
      context,
      'resources',
      listed.flatMap((items) => items ?? []),
      (item) => item.uri,
      personal,
    )
  },
}

/** Returns a fixed resource, or the resources that a template lists, with the members of the template as defaults. */
async function listedBy(resource: Resource, caller: CallerContext): Promise<ResourceItem[]> {
  if (!resource.template) return [resource.item]
  const { item, template, list } = resource
  const { uriTemplate, ...common } = item
  const entries: unknown = (await list?.(caller)) ?? []
  if (!isEntries(entries)) {
    const expected = 'a list of objects with the variables of each URI'
    throw brokenList('list', `resource "${uriTemplate}"`, entries, isObject, expected)
  }
  return entries.map((entry) => {
    const uri = template.uri(entry)
    const members: Params = entry
    const own = Object.entries(describing)
      // A variable may have another type than the member with its name.
      .filter(([key, [accepts]]) => accepts(members[key]) || !template.names.includes(key))
      .map(([key]) => [key, members[key]])
    const owner = `the entry "${uri}" of the resource "${uriTemplate}"`
    return { uri, ...common, name: uri, ...readOptional(Object.fromEntries(own), describing, owner) }
  })
}

const isEntries = (value: unknown): value is Listed[] => isListOf(value, isObject)
type Listed = Awaited<ReturnType<NonNullable<Resource['list']>>>[number]

export const listResourceTemplates: Method = {
  offered: hasResources,
  answer(context) {
    const templates = context.server.declarations.templates.values()
    return listMethod(context, 'resourceTemplates', templates, (item) => item.uriTemplate)
  },
}

export const readResource: Method = {
  named: 'uri',
  offered: hasResources,
  names: ({ uri }) => readEntryName('resource', uri),
  async answer(methodContext) {
    const { call, target, caller, context } = methodContext
    const uri = readUri(readText(call.params, 'uri'))
    const { match } = target.found
    const isReadable = match && (await mayRead(match, caller, () => target.isVisible(match.resource, methodContext)))
    if (!isReadable) throw resourceNotFound(uri)
    const { resource, variables } = match
    const withUri = Object.assign(context, { uri })
    const value = await callHandler(methodContext, 'resource', resource, variables, withUri)
    const result = readResourceResult(value, uri, resource.item.mimeType)
    const { ttlMs, cacheScope } = resource.caching ?? uncached
    const isOpen = !resource.authorize && !resource.scopes && !variesByCaller(resource)
    return { ...result, ttlMs, cacheScope: isOpen ? cacheScope : 'private' }
  },
}

/** Returns the template with this text, in any spelling of the text between its expressions. */
export function findTemplate({ templates }: Declarations, uri: string): Resource | undefined {
  const exact = templates.get(uri)
  if (exact || !uri.includes('{') || uri.length > bounds.uriCharacters) return exact
  const spelling = normalizeTopicUri(uri)
  for (const [text, template] of templates) if (normalizeTopicUri(text) === spelling) return template
  return undefined
}

/** Returns the declaration of a URI: a fixed resource, else the first template that expands to it. */
export function findResource(declarations: Declarations, uri: string) {
  const fixed = declarations.resources.get(uri) ?? findEquivalent(declarations, uri)
  if (fixed) return { resource: fixed, variables: {} }
  for (const resource of declarations.templates.values()) {
    const variables = resource.template?.match(uri)
    if (variables) return { resource, variables }
  }
  return undefined
}

/** Returns a fixed resource whose URI is another spelling of this one: `note://%31` is `note://1`. */
function findEquivalent({ resources }: Declarations, uri: string): Resource | undefined {
  if (!uri.isWellFormed() || uri.length > bounds.uriCharacters) return undefined
  const requestedUri = normalizeUri(uri)
  for (const [declared, resource] of resources) {
    // A declared URI is mostly its own normal form.
    if (declared === requestedUri || (declared !== uri && normalizeUri(declared) === requestedUri)) return resource
  }
  return undefined
}

/** Whether a caller may read what serves a URI. */
export async function mayRead(
  { resource, variables }: NonNullable<Found['match']>,
  caller: CallerContext,
  sees: () => Promise<boolean>,
): Promise<boolean> {
  if (!isPermitted(resource, caller) || !(await sees())) return false
  return !resource.authorize || (await resource.authorize(caller, variables)) === true
}

/** @throws McpError `invalid_params` for a text that is not a URI, and for a URI that a URL parser changes: see `uriProblem` */
export function readUri(uri: string): string {
  const problem = uriProblem(uri)
  if (problem !== undefined) throw new McpError('invalid_params', `params.uri ${problem}`)
  return uri
}
