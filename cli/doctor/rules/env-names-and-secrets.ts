/** Variables, bindings and secrets of a Worker. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseKeyRing } from '../../../worker/sealing/parse-key-ring.ts'
import { readFile } from '../../files.ts'
import { find, findAll, type Source } from '../code.ts'
import { type Config, lineOf, removedVariable, requiredSecrets } from '../config.ts'
import type { Finding } from '../finding.ts'
import type { Project } from '../project.ts'

export function secrets(project: Project): Finding[] {
  return [
    ...secretsInVars(project.config),
    ...undeclaredSecrets(project),
    ...missingKeys(project),
    ...malformedKeys(project),
  ]
}

/** Variables are visible in the dashboard and in git. */
function secretsInVars(config: Config): Finding[] {
  const all = [config.raw, ...Object.values(config.raw.env ?? {})].flatMap(({ vars = {} }) => Object.entries(vars))
  return all
    .filter(
      ([name, value]) => value !== '' && /^EDGEMCP_KEYS$|(?:SECRET|TOKEN|PASSWORD|PRIVATE_KEY|API_KEY)$/.test(name),
    )
    .map(([name]) => ({
      rule: 'secrets-in-vars',
      level: name === 'EDGEMCP_KEYS' ? 'error' : 'hint',
      file: config.file,
      line: lineOf(config, name),
      problem:
        name === 'EDGEMCP_KEYS'
          ? 'EDGEMCP_KEYS is a plain variable: every reader of this file can forge session ids of any principal.'
          : `${name} looks like a secret, but is a plain variable.`,
      fix:
        `Remove the line, create a new secret, and run npx wrangler secret put ${name}. ` +
        (name === 'EDGEMCP_KEYS'
          ? 'Without the secret, the server creates its own keys.'
          : 'For local development, write it to .dev.vars.'),
      change: removedVariable(config, name),
    }))
}

/**
 * Names that the code reads from `env` and that nothing declares. A secret may be set without being declared, so these are
 * hints. Names that the code can do without, and names that code adds to `env`, are left out.
 */
function undeclaredSecrets({ config, sources, local, folder, bundle }: Project): Finding[] {
  const declared = new Set(['EDGEMCP_KEYS', ...namesIn(config.raw)])
  const reads = [
    ...findAll(sources, /(?<!(?:process|import\.meta)\s*\.\s*)\benv\s*\??\.\s*([A-Z][A-Z0-9_]*)\b/),
    ...findAll(sources, /\(\s*env\s+as\s[^()]*\)\s*\??\.\s*([A-Z][A-Z0-9_]*)\b/),
    ...findAll(sources, /\{([^{}]*)\}\s*=\s*(?:this\.)?env\b/),
  ]
  const places = new Map<string, { file: string; line: number }>()
  for (const { file, line, match } of reads) {
    for (const [name] of (match[1] as string).matchAll(/\b[A-Z][A-Z0-9_]*\b(?=\s*(?:[,:=]|$))/g)) {
      if (!declared.has(name) && !places.has(name)) places.set(name, { file, line })
    }
  }
  const isAdded = (name: string) => bundle.inputs.some(({ path }) => assigns(resolve(folder, path), name))
  const undeclared = [...places.keys()].filter((name) => !isOptional(sources, name) && !isAdded(name))
  const bindings = undeclared.filter((name) => isBinding(sources, name))
  const missing = undeclared.filter((name) => !bindings.includes(name))
  const change = requiredSecrets(config, [...(config.raw.secrets?.required ?? []), ...missing])
  const ofBindings = bindings.map(
    (name): Finding => ({
      rule: 'binding-undeclared',
      level: 'hint',
      ...(places.get(name) as { file: string; line: number }), // it has one: it was read there
      problem: `The code uses the binding ${name} of env, and ${config.file} does not declare it: it is undefined.`,
      fix: `Declare it in ${config.file} with the binding "${name}".`,
    }),
  )
  const ofSecrets = missing.map((name, index): Finding => {
    const isLocal = local.has(name)
    const together = index > 0 && change
    return {
      rule: 'secret-undeclared',
      level: 'hint',
      ...(places.get(name) as { file: string; line: number }),
      problem:
        `The code reads ${name} from env, but ${config.file} does not declare it: ` +
        `${isLocal ? 'a deployment may not have it' : 'it is undefined unless it is set elsewhere'}.`,
      fix:
        `If it is a secret, run npx wrangler secret put ${name}, and list it in secrets.required of ${config.file}` +
        `${together ? `, together with ${missing[0]}` : ''}` +
        `${isLocal ? '' : '; for local development, write it to .dev.vars'}. Otherwise, add it to vars.`,
      // One edit for all of them, because a second table of the same name is invalid.
      change: index === 0 ? change : undefined,
    }
  })
  return [...ofBindings, ...ofSecrets]
}

/** Does the code call a method of bindings on it, which strings do not have? */
const isBinding = (sources: readonly Source[], name: string): boolean =>
  find(
    sources,
    new RegExp(
      `\\b${name}\\s*\\.\\s*(?:prepare|batch|exec|withSession|get|put|list|delete|head|send|sendBatch|fetch|run|create|getByName|idFromName|writeDataPoint|limit)\\s*\\(`,
    ),
  ) !== undefined

/** Does the code test the variable, give it a default or declare it as optional? */
function isOptional(sources: readonly Source[], name: string): boolean {
  const read = `\\benv\\s*(?:\\s+as\\s[^()]*\\))?\\s*\\??\\.\\s*${name}\\b`
  return [
    // env.X ?? y, env.X || y, env.X && y, env.X?.y, env.X ? y : z, env.X === y
    new RegExp(`${read}\\s*(?:\\?|\\|\\||&&|[!=]==?)`),
    // !env.X, if (env.X)
    new RegExp(`(?:!\\s*|\\bif\\s*\\(\\s*)\\(?\\s*${read}`),
    // { X?: string }
    new RegExp(`\\b${name}\\?\\s*:`),
    // const { X = y, X: z = y } = env
    new RegExp(`\\{[^{}]*\\b${name}\\s*(?::\\s*[\\w$]+\\s*)?=[^{}]*\\}\\s*=\\s*(?:this\\.)?env\\b`),
  ].some((pattern) => find(sources, pattern) !== undefined)
}

/** Does a file of the bundle add a member of this name to `env`, as libraries do? */
function assigns(path: string, name: string): boolean {
  if (!/\.[cm]?[jt]sx?$/.test(path) || !existsSync(path)) return false
  return new RegExp(`\\benv\\s*\\.\\s*${name}\\s*(?:\\?\\?|\\|\\|)?=(?![=>])`).test(readFile(path).toString())
}

/** Keys of this machine that the server cannot parse. */
function malformedKeys({ local }: Project): Finding[] {
  const { value, file, line } = local.get('EDGEMCP_KEYS') ?? {}
  if (!value || file === undefined || isKeyRing(value)) return []
  const key = `node -p "'a:' + require('node:crypto').randomBytes(32).toString('base64url')"`
  return [
    {
      rule: 'keys-malformed',
      level: 'error',
      file,
      line,
      problem:
        'The server cannot use EDGEMCP_KEYS, so input requests and sessions fail: it must be a comma-separated list of "id:key"; ids differ, keys are 32 bytes in base64url.',
      fix: `Write EDGEMCP_KEYS= and the output of: ${key}. Or remove the line: the server then creates its own keys in McpSession.`,
    },
  ]
}

function isKeyRing(secret: string): boolean {
  try {
    parseKeyRing(secret)
    return true
  } catch {
    return false
  }
}

/** Sealed values need keys: those of the secret, or those that a Durable Object generates and stores. */
function missingKeys({ config, sources, local, servers, bundle }: Project): Finding[] {
  const has = new Set([...bundle.exports, ...namesIn(config.raw)])
  // A server with sessions gets a finding about the missing object.
  const without = servers.find((server) => !server.sessions && !has.has(server.names.McpSession ?? 'McpSession'))
  const seals =
    find(sources, /\b(?:ctx|context)\s*\.\s*(?:elicit|elicitUrl|sample|roots|requestInput|createHandle)\s*\(/) ??
    (without?.has.tasks ? find(sources, /\btasks\s*\(/) : undefined) ??
    (without?.pluginClasses.includes('McpEvents') ? find(sources, /\bevents\s*\(/) : undefined)
  if (!without || !seals || has.has('EDGEMCP_KEYS')) return []
  const { file, line, match } = seals
  const isLocal = local.has('EDGEMCP_KEYS')
  return [
    {
      rule: 'missing-keys',
      level: isLocal ? 'hint' : 'error',
      file,
      line,
      problem:
        `${match[0].replace(/\s+|\($/g, '')} needs keys, and ${isLocal ? `${config.file} does not declare them for a deployment` : 'the server has none: it fails with an internal error'}. ` +
        'Without McpSession, no Durable Object creates and stores keys.',
      fix:
        'Run npx wrangler secret put EDGEMCP_KEYS with "a:" and the base64url of 32 random bytes, and name it in secrets.required ' +
        `of ${config.file}${isLocal ? '' : '; for local development, write it to .dev.vars'}. Or add sessions() to the plugins of serve().`,
      change: requiredSecrets(config, [...(config.raw.secrets?.required ?? []), 'EDGEMCP_KEYS']),
    },
  ]
}

/** Every name in a configuration: variables, secrets, and bindings of each type. */
function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inside]) => {
    if (key === 'vars') return Object.keys(inside as object)
    if (key === 'required') return inside as string[]
    const ownNames = (key === 'binding' || key === 'name') && typeof inside === 'string' ? [inside] : []
    return [...ownNames, ...namesIn(inside)]
  })
}
