/** The options of `discovery()`, and their checks. */
import { checkOptions, type Kind, type KindsOf } from '../../declarations/check-options.ts'
import type { Declarations } from '../../declarations/declarations.ts'
import { type Duration, milliseconds } from '../../declarations/duration.ts'
import * as kind from '../../declarations/option-kinds.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Skill } from '../skills/skill.ts'

/** Names the repository with the source of the server, as the MCP Registry does. */
export type Repository = {
  /** URL of the repository, such as `https://github.com/example/weather`. */
  url: string
  /** Name of the hosting service, such as `github`. */
  source: string
  /** Folder of the server in the repository. Default: none. */
  subfolder?: string
  /** Id of the repository at the hosting service. Default: none. */
  id?: string
}

/** Names another endpoint of the same origin that has `discovery()`. */
export type OtherEndpoint = {
  /** Name of its server, as the part after the slash in its server card: `weather`. */
  name: string
  /** Path of the endpoint, such as `/weather/mcp`. */
  path: string
}

/** Configures `discovery()`. */
export type DiscoveryOptions = {
  /**
   * Name of the server in its card: the labels of a domain that you control in reverse order, a slash and a name, such as
   * `com.example/weather`. Registries know the server by it.
   */
  name: string
  /** Describes the server in its card, with 1 to 100 characters. Default: the description in `createServer()`, or its title, or its name. */
  description?: string
  /** The repository with the source of the server. Default: none. */
  repository?: Repository
  /** Origin of the URLs in all documents, such as `https://mcp.example.com`. Default: that of the request. */
  origin?: string
  /** Other endpoints of the origin that have `discovery()`, for the catalogs. Default: none. */
  otherEndpoints?: readonly OtherEndpoint[]
  /**
   * Skills that everyone may read, as the list that `npx edgemcp skills` writes: an index at `/.well-known/agent-skills/index.json`, and a
   * file for each skill. The scopes of `skills()` do not protect what is in this list. Default: the paths answer with 404.
   */
  skills?: readonly Skill[]
  /** How long clients and caches may use a document without asking again. Default: `1h`. */
  maxAge?: Duration
  /**
   * The line that proves to the MCP Registry that you control the domain: `v=MCPv1; k=ed25519; p=…`, with the public key. Default: the path
   * answers with 404.
   */
  registryAuth?: string | undefined
  /** The token with which OpenAI verifies the domain of a ChatGPT plugin. Default: the path answers with 404. */
  openAiChallenge?: string | undefined
}

const owner = 'discovery()'
export const usualMaxAge: Duration = '1h'
/** Seconds of a year: RFC 9111 knows no use of more. */
const longestMaxAge = 365 * 24 * 60 * 60

const isText = (value: unknown): value is string => typeof value === 'string'
/** RFC 3986, section 2: other characters have to be encoded. */
const isWebUrl = (value: unknown): boolean =>
  isText(value) && /^https?:\/\/[\w.~:/?#[\]@!$&'()*+,;=%-]+$/.test(value) && URL.canParse(value)
const isShort = (text: string): boolean => text !== '' && [...text].length <= 100

/** The form of a name in a server card. Its length is bounded, so that it fits into catalogs. */
const isCardName = (value: unknown): boolean =>
  isText(value) && /^[a-z\d-]+(?:\.[a-z\d-]+)+\/\w[\w.-]*$/i.test(value) && value.length <= 200

const webUrl: Kind = [isWebUrl, 'a URL such as "https://github.com/example/weather"']

const kinds: KindsOf<DiscoveryOptions> = {
  name: kind.required([
    isCardName,
    'the labels of a domain in reverse order, a slash and a name, such as "com.example/weather", with at most 200 characters',
  ]),
  description: [(value) => isText(value) && isShort(value.trim()), 'a text of 1 to 100 characters'],
  repository: kind.object(
    {
      url: kind.required(webUrl),
      source: kind.required(kind.name),
      subfolder: kind.name,
      id: kind.name,
    } satisfies KindsOf<Repository>,
    "an object such as { url: 'https://github.com/example/weather', source: 'github' }",
  ),
  origin: [
    (value) => isWebUrl(value) && /^[^*]+$/.test(String(value)) && URL.parse(String(value))?.origin === value,
    'an origin such as "https://mcp.example.com", without a path',
  ],
  otherEndpoints: [
    (value) => kind.isListOf(value, isObject),
    "a list such as [{ name: 'weather', path: '/weather/mcp' }]",
    {
      name: kind.required([(value) => isText(value) && /^[\w.-]+$/.test(value), 'letters, digits, ".", "_" and "-"']),
      path: kind.required(kind.path),
    } satisfies KindsOf<OtherEndpoint>,
  ],
  // Checked apart, as skills() does.
  skills: kind.anything,
  maxAge: kind.duration,
  // Checked apart, without repeating them.
  registryAuth: [() => true, ''],
  openAiChallenge: [() => true, ''],
}

/** Options whose values are files for a registry or a directory. */
type Proof = 'registryAuth' | 'openAiChallenge'

const proofs: Readonly<Record<Proof, { readonly pattern: RegExp; readonly expected: string }>> = {
  registryAuth: {
    // Public keys of these lengths: private ones are longer, or shorter.
    pattern: /^v=MCPv1; ?k=(?:ed25519; ?p=[A-Za-z\d+/]{43}=|ecdsap384; ?p=[A-Za-z\d+/]{66}==)$/,
    expected: 'the line with the public key, such as "v=MCPv1; k=ed25519; p=…"',
  },
  openAiChallenge: { pattern: /^[\x21-\x7e]{1,512}$/, expected: 'one token of at most 512 characters, without spaces' },
}

/** @throws Error for an invalid option. The message names the fix */
export function checkDiscovery(options: DiscoveryOptions): void {
  if (isObject(options)) for (const name of ['registryAuth', 'openAiChallenge'] as const) checkProof(options, name)
  checkOptions(owner, options, kinds)
  const seconds = milliseconds(options.maxAge ?? usualMaxAge, 'maxAge') / 1000
  if (seconds > longestMaxAge) throw new Error(`"maxAge" of ${owner} must be at most a year, not ${options.maxAge}`)
}

function checkProof(options: DiscoveryOptions, name: Proof): void {
  const { pattern, expected } = proofs[name]
  const text = proofOf(options, name)
  if (text === undefined || (isText(text) && pattern.test(text))) return
  // A private key may be in its place.
  throw new Error(`"${name}" of ${owner} must be ${expected}. It is not repeated here, because it may be a secret`)
}

/** Returns the text of an option. Tools that store secrets often add a line break at the end. */
export const proofOf = (options: DiscoveryOptions, name: Proof): string | undefined => {
  const text = options[name]
  return isText(text) ? text.replace(/\r?\n$/, '') : text
}

/** @throws Error when a server card cannot contain what `createServer()` says. The message names the fix */
export function checkDescription({ options: { title, description, websiteUrl } }: Declarations, own?: string): void {
  if (title && !isShort(title)) {
    throw new Error('The title of the server is too long for a server card: use at most 100 characters')
  }
  if (own === undefined && description && !isShort(description)) {
    throw new Error(
      "The description of the server is too long for a server card: pass one of at most 100 characters, as in discovery({ description: '…' })",
    )
  }
  if (websiteUrl !== undefined && !isWebUrl(websiteUrl)) {
    throw new Error('websiteUrl of the server must be a URL such as "https://weather.example" for a server card')
  }
}
