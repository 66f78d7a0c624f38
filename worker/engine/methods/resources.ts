/** @see https://modelcontextprotocol.io/specification/2026-07-28/server/resources */
import { McpError } from '../../protocol/errors.ts'
import type { ResourceItem, ResourceTemplateItem, Result } from '../../protocol/types.ts'
import type { Caller } from '../../server/caller.ts'
import { resourceNotFound, resourceResult } from '../../server/content.ts'
import type { Resource } from '../../server/resource.ts'
import type { Registry } from '../../server/server.ts'
import { isVisible, page, uncached, visible } from './lists.ts'
import { type Method, readText } from './method.ts'

export const hasResources = (registry: Registry) => registry.resources.size > 0 || registry.templates.size > 0

export const listResources: Method = {
  offered: hasResources,
  async answer(asked) {
    const { registry } = asked.server
    const caller = { principal: asked.call.principal }
    const fixed = await visible(registry.resources.values(), caller)
    const listing = (await visible(registry.templates.values(), caller)).filter((template) => template.list)
    const listed = await Promise.all(listing.map((template) => listedBy(template, caller)))
    const items = [...fixed.map((resource) => resource.item as ResourceItem), ...listed.flat()]
    const all = [...registry.resources.values(), ...registry.templates.values()]
    const personal = all.some((resource) => resource.list || resource.enabled)
    return page(asked, 'resources', items, (item) => item.uri, personal)
  },
}

/** The resources that a template lists, each described by the template where it does not describe itself. */
async function listedBy(resource: Resource, caller: Caller): Promise<ResourceItem[]> {
  const { template, list } = resource
  if (!template || !list) return []
  const { uriTemplate: _, ...common } = resource.item as ResourceTemplateItem
  return (await list(caller)).map((entry) => {
    const { name, title, description, mimeType, size, annotations, icons, _meta } = entry as Partial<ResourceItem>
    const uri = template.expand(entry)
    const own = { name: name ?? uri, title, description, mimeType, size, annotations, icons, _meta }
    const given = Object.entries(own).filter(([, value]) => value !== undefined)
    return { uri, ...common, ...Object.fromEntries(given) } as ResourceItem
  })
}

export const listResourceTemplates: Method = {
  offered: hasResources,
  async answer(asked) {
    const templates = [...asked.server.registry.templates.values()]
    const seen = await visible(templates, { principal: asked.call.principal })
    const items = seen.map((resource) => resource.item as ResourceTemplateItem)
    const personal = templates.some((resource) => resource.enabled)
    return page(asked, 'resourceTemplates', items, (item) => item.uriTemplate, personal)
  },
}

export const readResource: Method = {
  offered: hasResources,
  async answer({ server, call, context }) {
    const uri = readUri(readText(call.params, 'uri'))
    const found = findResource(server.registry, uri)
    if (!found || !(await isVisible(found.resource, { principal: call.principal }))) throw resourceNotFound(uri)
    const { resource, variables } = found
    const value = await resource.handler(variables, { ...context, uri })
    const result = resourceResult(value, uri, resource.item.mimeType)
    const { ttlMs, cacheScope } = resource.caching ?? uncached
    return { ...result, ttlMs, cacheScope: resource.enabled ? 'private' : cacheScope } as Result
  },
}

/** What serves a URI: a fixed resource first, then the first template that expands to it. */
export function findResource(registry: Registry, uri: string) {
  const fixed = registry.resources.get(uri)
  if (fixed) return { resource: fixed, variables: {} }
  for (const resource of registry.templates.values()) {
    const variables = resource.template?.match(uri)
    if (variables) return { resource, variables }
  }
  return undefined
}

/** @throws McpError `invalid_params` for what is not a URI, or climbs out of where it points */
export function readUri(uri: string): string {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(uri)) {
    throw new McpError('invalid_params', 'params.uri must be a URI with a scheme')
  }
  if (/(?:^|[/\\:])\.\.(?:[/\\?#]|$)/.test(uri.replace(/%2e/gi, '.').replace(/%2f/gi, '/').replace(/%5c/gi, '\\'))) {
    throw new McpError('invalid_params', 'params.uri must not contain ".." segments')
  }
  return uri
}
