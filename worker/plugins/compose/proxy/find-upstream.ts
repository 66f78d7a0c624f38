/** Finds the upstream of an entry that this server does not have. */

import type { MethodContext } from '../../../engine/methods/method.ts'
import { consistsOf } from '../../../protocol/consists-of.ts'
import { McpError } from '../../../protocol/errors.ts'
import { canonicalTemplate, canonicalUri } from '../../../protocol/uri.ts'
import { uriTemplate } from '../../../protocol/uri-template.ts'
import { type List, lists, type Proxied } from './proxied.ts'

/** Steps in which a URI is compared with the templates of one upstream: one for each part of a template and character of the URI. */
const maxSteps = 1_000_000
/** Steps that reading a part of a template takes. */
const stepsOfReading = 256

/**
 * Returns the upstream whose prefix a name has; of several, the first that lists the name.
 *
 * @throws McpError `unavailable` when that is unknown, because one of them does not respond
 */
export async function upstreamForName(
  context: MethodContext,
  list: List,
  name: string,
  proxies: readonly Proxied[],
): Promise<Proxied | undefined> {
  const fitting = proxies.filter(({ prefix }) => name.startsWith(prefix))
  const [only, ...others] = fitting
  if (others.length === 0) return only && (await only.offers(context, lists[list].feature)) ? only : undefined
  const has: Has = async (proxied, sinceMs) => (await proxied.ids(context, list, sinceMs)).includes(name)
  return fitting[await chosen(context, () => firstThat(has, fitting))]
}

/**
 * Returns the upstreams to ask for a resource, in order: the first that lists it or a matching template; all of them if none does.
 *
 * @param uri of the resource, or the text of a template, in its canonical spelling
 */
export async function upstreamsForUri(
  context: MethodContext,
  uri: string,
  proxies: readonly Proxied[],
): Promise<readonly Proxied[]> {
  // An upstream that does not respond may have some.
  const offering = await Promise.all(proxies.map((proxied) => proxied.offers(context, 'resources').catch(() => true)))
  const possible = proxies.filter((_, index) => offering[index])
  if (possible.length < 2) return possible
  const has: Has = async (proxied, sinceMs) => {
    const resources = await proxied.ids(context, 'resources/list', sinceMs)
    if (resources.some((listed) => canonicalUri(listed) === uri)) return true
    return fitsOne(context, proxied, uri, await proxied.ids(context, 'resources/templates/list', sinceMs))
  }
  const holder = proxies[await chosen(context, () => firstThat(has, proxies).catch(() => -1))]
  return holder ? [holder] : possible
}

/** Whether a URI fits a template of an upstream, as far as that is found in time. */
function fitsOne(context: MethodContext, { access }: Proxied, uri: string, templates: readonly string[]): boolean {
  let steps = 0
  for (const listed of templates) {
    const template = canonicalTemplate(listed)
    if (uri === template) return true
    // Most URIs of other templates have other texts, and this is quick.
    if (!consistsOf(template.split(/\{[^{}]*\}/), uri)) continue
    steps += template.split(/[{},]/).length * (uri.length + stepsOfReading)
    if (steps > maxSteps) {
      const start = uri.slice(0, 100)
      const problem = new McpError(
        'unavailable',
        `${access.what} has too many similar URI templates: not all are compared with "${start}…"`,
      )
      context.environment.report(problem)
      return false
    }
    if (uriTemplate(template).match(uri)) return true
  }
  return false
}

/** Makes a choice once per call, however many rounds the call has. */
const chosen = ({ context }: MethodContext, choose: () => Promise<number>): Promise<number> =>
  context.once('\0remote', choose)

/** Whether an upstream has an entry. @param sinceMs see `Proxied.ids` */
type Has = (proxied: Proxied, sinceMs?: number) => Promise<boolean>

/**
 * Uses the lists that earlier calls have read. If no list has the entry, those are read again: it may be new.
 *
 * @returns the index; -1 for none
 * @throws the first error of an upstream that could not be asked, if no other upstream matches
 */
async function firstThat(has: Has, proxies: readonly Proxied[]): Promise<number> {
  const nowMs = Date.now()
  const problems = new Map<Proxied, unknown>()
  for (const sinceMs of [undefined, nowMs]) {
    for (const [index, proxied] of proxies.entries()) {
      try {
        if (!problems.has(proxied) && (await has(proxied, sinceMs))) return index
      } catch (problem) {
        problems.set(proxied, problem)
      }
    }
  }
  if (problems.size > 0) throw [...problems.values()][0]
  return -1
}
