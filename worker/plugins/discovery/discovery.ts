import { milliseconds } from '../../declarations/duration.ts'
import type { Plugin, Route, Runtime } from '../../plugin.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import { aiCatalog, aiCatalogType, apiCatalog, linksetType } from './catalogs.ts'
import { documentResponse, type PublicDocument, preflight, publicDocument } from './document-response.ts'
import { checkDescription, checkDiscovery, type DiscoveryOptions, proofOf, usualMaxAge } from './options.ts'
import { publicSkills, skillsIndexPath } from './public-skills.ts'
import { cardPathOf, cardType, describeEndpoint, type Endpoint, serverCard } from './server-card.ts'

export type { DiscoveryOptions, OtherEndpoint, Repository } from './options.ts'

const json = 'application/json'

/** Returns a document. */
type Write = (request: Request, info: ServerInfo) => Promise<PublicDocument>

/**
 * Creates a plugin that publishes what clients, registries and directories read before they connect: the server card, the AI catalog, the API
 * catalog, proofs that you control the domain, and the skills that you pass. Everyone may read these documents. They contain no tools,
 * prompts and resources of the server.
 *
 * @throws Error for an invalid option, and for a server that a server card cannot describe. The message names the fix
 * @see https://github.com/modelcontextprotocol/modelcontextprotocol/pull/2127
 *
 * @example
 * serve(server, { plugins: [discovery({ name: 'com.example/weather' })] })
 */
export function discovery(options: DiscoveryOptions): Plugin {
  checkDiscovery(options)
  const { description, maxAge = usualMaxAge } = options
  const seconds = Math.floor(milliseconds(maxAge, 'maxAge') / 1000)
  const skills = options.skills === undefined ? undefined : publicSkills(options.skills)
  const links = (info: ServerInfo) => linksOf(info, skills !== undefined)
  return {
    name: 'discovery',
    validate({ declarations }) {
      checkDescription(declarations, description)
    },
    routes(runtime) {
      const { mcp } = runtime.paths
      if (mcp.includes('{tenant}')) {
        throw new Error(
          `discovery() describes one endpoint of each host, and the tenants of "${mcp}" share a host: give them hosts, as in tenants('{tenant}.example.com', …), or remove discovery()`,
        )
      }
      const documents = [...documentsOf(runtime, options), ...(skills ?? [])]
      return documents.map(([path, write]) => route(path, write, `public, max-age=${seconds}`, links))
    },
    // The page at `/` is where scanners look for links.
    onResponse({ request }, response, info) {
      if (!response.ok || !/^(?:GET|HEAD)$/.test(request.method) || info.paths.mcp === '/') return
      if (new URL(request.url).pathname === '/') response.headers.append('Link', links(info))
    },
  }
}

function route(path: string, write: Write, caching: string, links: (info: ServerInfo) => string): Route {
  return {
    path,
    methods: ['GET', 'HEAD', 'OPTIONS'],
    async handle(request, info) {
      if (request.method === 'OPTIONS') return preflight()
      const document = await write(request, info)
      return documentResponse(request, document, { 'Cache-Control': caching, Link: links(info) })
    },
  }
}

/** Returns what writes each document, by path. */
function documentsOf(runtime: Runtime, options: DiscoveryOptions): readonly (readonly [path: string, write: Write])[] {
  const { otherEndpoints = [] } = options
  const { name, title, websiteUrl } = runtime.declarations.options
  const card =
    (type: string): Write =>
    async (request, info) => {
      const endpoint = await describeEndpoint(request, info, options)
      return publicDocument(type, JSON.stringify(serverCard(endpoint, info, runtime, options)))
    }
  const described =
    (type: string, write: (endpoint: Endpoint) => unknown): Write =>
    async (request, info) =>
      publicDocument(type, JSON.stringify(write(await describeEndpoint(request, info, options))))
  const documents: [path: string, write: Write][] = [
    [cardPathOf(runtime.paths.mcp), card(cardType)],
    // Where scanners look. They know the older media type.
    ['/.well-known/mcp/server-card.json', card(json)],
    [
      '/.well-known/ai-catalog.json',
      described(aiCatalogType, (endpoint) => aiCatalog(endpoint, otherEndpoints, title || name)),
    ],
    [
      '/.well-known/api-catalog',
      described(linksetType, (endpoint) => apiCatalog(endpoint, otherEndpoints, websiteUrl)),
    ],
  ]
  const addProof = (path: string, body: string | undefined) => {
    if (body !== undefined) documents.push([path, async () => publicDocument('text/plain; charset=utf-8', body)])
  }
  addProof('/.well-known/mcp-registry-auth', proofOf(options, 'registryAuth'))
  addProof('/.well-known/openai-apps-challenge', proofOf(options, 'openAiChallenge'))
  return documents
}

/**
 * Returns links to the documents. They contain paths only, never names: paths have no quotes, line breaks or other characters than ASCII.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8288#section-3
 */
function linksOf({ paths }: ServerInfo, hasSkills: boolean): string {
  const links = [
    ['/.well-known/api-catalog', 'api-catalog', 'application/linkset+json'],
    [cardPathOf(paths.mcp), 'service-desc', cardType],
    ['/.well-known/ai-catalog.json', 'describedby', aiCatalogType],
    ...(hasSkills ? [[skillsIndexPath, 'describedby', json]] : []),
  ]
  return links.map(([path, relation, type]) => `<${path}>; rel="${relation}"; type="${type}"`).join(', ')
}
