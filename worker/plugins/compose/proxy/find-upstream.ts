/** Finds the upstream of an entry that this server does not have. */

import type { MethodContext } from '../../../engine/methods/method.ts'
import { consistsOf } from '../../../protocol/consists-of.ts'
import { McpError } from '../../../protocol/errors.ts'
import { uriTemplate } from '../../../protocol/uri-template.ts'
import type { Listed } from './listed-ids.ts'
import { type List, lists, type Proxied } from './proxied.ts'

/** Steps in which a URI is compared with the templates of one upstream: one for each part of a template and character of the URI. */
const maxSteps = 1_000_000
/** Steps that reading a part of a template takes. */
const stepsOfReading = 256

/** An upstream to which a call goes. */
export type Destination = {
  readonly proxied: Proxied
  /** Names it in the journal of the call. */
  readonly id: string
  /** Whether the call goes to no other upstream. */
  readonly isSole: boolean
}

/**
 * Returns the upstream whose prefix a name has; of several, the first that lists the name.
 *
 * @param permitted the upstreams that the caller may use, of `all` that the server has
 * @throws McpError `unavailable` when that is unknown, because one of them does not respond; see `chosen`
 */
export async function upstreamForName(
  context: MethodContext,
  list: List,
  name: string,
  permitted: readonly Proxied[],
  all: readonly Proxied[],
): Promise<Destination | undefined> {
  const has: Has = async (proxied, sinceMs) => (await proxied.ids(context, list, sinceMs)).ids.includes(name)
  const [destination] = await chosen(context, permitted, all, async () => {
    const fitting = permitted.filter(({ prefix }) => name.startsWith(prefix))
    if (fitting.length > 1) return firstThat([has], fitting)
    return fitting[0] && (await fitting[0].offers(context, lists[list].feature)) ? fitting : []
  })
  return destination
}

/**
 * Returns the upstreams to ask for a resource, in order: the first that lists it, else the first with a matching template; all of them if
 * there is none.
 *
 * @param uri of the resource, or the text of a template, in its canonical spelling
 * @param permitted the upstreams that the caller may use, of `all` that the server has
 * @throws McpError see `chosen`
 */
export function upstreamsForUri(
  context: MethodContext,
  uri: string,
  permitted: readonly Proxied[],
  all: readonly Proxied[],
): Promise<readonly Destination[]> {
  const lists: Has = async (proxied, sinceMs) =>
    (await proxied.ids(context, 'resources/list', sinceMs)).spellings.has(uri)
  const compared = new Set<Listed>()
  const fits: Has = async (proxied, sinceMs) => {
    const listed = await proxied.ids(context, 'resources/templates/list', sinceMs)
    if (compared.has(listed)) return false
    compared.add(listed)
    return fitsOne(context, proxied, uri, listed.templates)
  }
  return chosen(context, permitted, all, async () => {
    // An upstream that does not respond may have some.
    const offering = await Promise.all(
      permitted.map((proxied) => proxied.offers(context, 'resources').catch(() => true)),
    )
    const possible = permitted.filter((_, index) => offering[index])
    if (possible.length < 2) return possible
    const holder = await firstThat([lists, fits], possible).catch(() => [])
    return holder.length > 0 ? holder : possible
  })
}

/** Whether a URI fits a template of an upstream, as far as that is found in time. */
function fitsOne(context: MethodContext, { access }: Proxied, uri: string, templates: readonly string[]): boolean {
  let steps = 0
  for (const template of templates) {
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

/**
 * Chooses the upstreams of a call once, however many rounds the call has: answers to input requests and the request state of one upstream
 * must not reach another one, whatever the caller may use and the upstreams offer meanwhile.
 *
 * @throws McpError `unavailable` when the caller can use none of them any more
 */
async function chosen(
  { context }: MethodContext,
  permitted: readonly Proxied[],
  all: readonly Proxied[],
  choose: () => Promise<readonly Proxied[]>,
): Promise<readonly Destination[]> {
  const ids = await context.once('\0remote', async () => (await choose()).map((proxied) => idOf(proxied, all)))
  const isSole = ids.length === 1
  const usable = permitted.map((proxied) => ({ proxied, id: idOf(proxied, all), isSole }))
  const destinations = ids.flatMap((id) => usable.filter((each) => each.id === id))
  if (ids.length > 0 && destinations.length === 0) throw otherUpstream()
  return destinations
}

/** Returns a name of an upstream that does not change with the order of upstreams: its prefix and URL and, of equal ones, its number. */
function idOf(proxied: Proxied, all: readonly Proxied[]): string {
  const equal = all.filter(({ prefix, url }) => prefix === proxied.prefix && url === proxied.url)
  return `${equal.indexOf(proxied)} ${proxied.prefix} ${proxied.url}`
}

/** The error for a round of a call that started at another upstream. */
export const otherUpstream = (): McpError =>
  new McpError(
    'unavailable',
    'The upstream server that started this call is no longer available to its caller: call again',
  )

/** Whether an upstream has an entry. @param sinceMs see `Proxied.ids` */
type Has = (proxied: Proxied, sinceMs?: number) => Promise<boolean>

/**
 * Returns the first upstream for which one of the functions is true: the first function for all upstreams, then the next one.
 *
 * Uses the lists that earlier calls have read. If no list has the entry, those are read again: it may be new.
 *
 * @returns none, or one
 * @throws the first error of an upstream that could not be asked, if no other upstream matches
 */
async function firstThat(ranked: readonly Has[], proxies: readonly Proxied[]): Promise<readonly Proxied[]> {
  const nowMs = Date.now()
  const problems = new Map<Proxied, unknown>()
  for (const sinceMs of [undefined, nowMs]) {
    for (const has of ranked) {
      for (const proxied of proxies) {
        try {
          if (!problems.has(proxied) && (await has(proxied, sinceMs))) return [proxied]
        } catch (problem) {
          problems.set(proxied, problem)
        }
      }
    }
  }
  if (problems.size > 0) throw [...problems.values()][0]
  return []
}
