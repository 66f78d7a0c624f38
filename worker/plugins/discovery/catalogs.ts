/**
 * The catalogs of an origin, with its endpoints.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9727
 * @see https://github.com/Agent-Card/ai-catalog
 */
import type { Params } from '../../protocol/types.ts'
import type { OtherEndpoint } from './options.ts'
import { cardPathOf, cardType, type Endpoint } from './server-card.ts'

export const linksetType = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
export const aiCatalogType = 'application/ai-catalog+json'

/** @param displayName of the server, for the publisher of the catalog */
export function aiCatalog({ name, origin, cardUrl }: Endpoint, others: readonly OtherEndpoint[], displayName: string) {
  const [domain = '', slug = ''] = name.split('/')
  const publisher = /^[\d.]+$/.test(domain) ? domain : domain.split('.').reverse().join('.')
  const entry = (path: string, url: string): Params => ({
    identifier: `urn:air:${publisher}:mcp:${path}`,
    type: cardType,
    url,
  })
  return {
    specVersion: '1.0',
    host: { displayName, identifier: new URL(origin).hostname },
    entries: [entry(slug, cardUrl), ...others.map((other) => entry(other.name, origin + cardPathOf(other.path)))],
  }
}

/** @param websiteUrl of the server */
export function apiCatalog(
  { origin, url, cardUrl, metadataUrl }: Endpoint,
  others: readonly OtherEndpoint[],
  websiteUrl: string | undefined,
) {
  const card = (href: string) => [{ href, type: cardType }]
  return {
    linkset: [
      {
        anchor: `${origin}/.well-known/api-catalog`,
        item: [url, ...others.map(({ path }) => origin + path)].map((href) => ({ href })),
      },
      {
        anchor: url,
        'service-desc': card(cardUrl),
        'service-doc': websiteUrl === undefined ? undefined : [{ href: websiteUrl }],
        'service-meta': metadataUrl === undefined ? undefined : [{ href: metadataUrl, type: 'application/json' }],
      },
      ...others.map(({ path }) => ({ anchor: origin + path, 'service-desc': card(origin + cardPathOf(path)) })),
    ],
  }
}
