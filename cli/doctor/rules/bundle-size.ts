/** The size of the bundle, and its largest parts. */
import { findAll } from '../code.ts'
import type { Finding } from '../finding.ts'
import type { Project } from '../project.ts'

/** Bytes after gzip that can be deployed on the free plan, and on paid plans. */
const limits = { free: 3 * 1024 ** 2, paid: 10 * 1024 ** 2 }

export function bundleSize({ config, bundle, sources }: Project): Finding[] {
  const findings: Finding[] = []
  const file = config.raw.main ?? config.file
  if (bundle.size > limits.free) {
    const isTooLarge = bundle.size > limits.paid
    findings.push({
      rule: 'bundle-size',
      level: isTooLarge ? 'error' : 'hint',
      file,
      problem:
        `The bundle has ${megabytes(bundle.size)} after gzip, ` +
        `${isTooLarge ? 'more than Cloudflare accepts' : 'more than the free plan accepts'} (${megabytes(isTooLarge ? limits.paid : limits.free)}). ` +
        `The largest parts, before gzip: ${heaviest(bundle.inputs)}.`,
      fix: 'Replace the largest part, or import less of it; store data in KV, R2 or assets.',
    })
  }
  for (const { file, line, match } of findAll(
    sources,
    /^[ \t]*import\s+(?:\{\s*(?:z|z\s+as\s+\w+|default\s+as\s+\w+)\s*\}|(\w+))\s*from\s*(['"])zod(?:\/v4)?\2/m,
    'code',
  )) {
    const local = match[1] ?? /as\s+(\w+)/.exec(match[0])?.[1] ?? 'z'
    findings.push({
      rule: 'zod-import',
      level: 'hint',
      file,
      line,
      problem:
        'This import keeps all of zod in the bundle, with the messages of all its languages: about 65 KB more after gzip.',
      fix: `Write import * as ${local} from 'zod'.`,
      change: { from: match[0].trimStart(), to: `import * as ${local} from 'zod'` },
    })
  }
  const sdk = bundle.inputs.filter(({ path, bytes }) => bytes > 0 && packageIn(path) === '@modelcontextprotocol/sdk')
  if (sdk.length > 0) {
    const place = findAll(sources, /['"]@modelcontextprotocol\/sdk[^'"]*['"]/, 'code')[0]
    findings.push({
      rule: 'sdk-in-bundle',
      level: 'hint',
      file: place?.file ?? file,
      line: place?.line,
      problem: `@modelcontextprotocol/sdk is in the bundle, with ${kilobytes(sum(sdk))} before gzip: edgemcp does not need it.`,
      fix: 'Import only types from it (import type), and import values from edgemcp.',
    })
  }
  return findings
}

type Input = { path: string; bytes: number }

/** The three largest packages or files of the project in the bundle. */
function heaviest(inputs: readonly Input[]): string {
  const groups = new Map<string, Input[]>()
  for (const input of inputs) {
    const owner = packageIn(input.path) ?? input.path
    groups.set(owner, [...(groups.get(owner) ?? []), input])
  }
  return [...groups]
    .map(([owner, parts]) => [owner, sum(parts)] as const)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 3)
    .map(([owner, bytes]) => `${owner} (${kilobytes(bytes)})`)
    .join(', ')
}

const packageIn = (path: string) => /.*node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(path)?.[1]
const sum = (inputs: readonly Input[]) => inputs.reduce((total, { bytes }) => total + bytes, 0)
const megabytes = (bytes: number) => `${(bytes / 1024 ** 2).toFixed(1)} MB`
const kilobytes = (bytes: number) => `${Math.round(bytes / 1024)} KB`
