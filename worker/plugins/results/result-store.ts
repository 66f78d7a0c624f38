/** `resultStore()`: its options, the interceptor that stores large content of results in R2, and the resource that reads it. */
import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import { type Duration, milliseconds } from '../../declarations/duration.ts'
import type { CallInfo } from '../../declarations/interceptor.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { ResultOutcome } from '../../declarations/outcome.ts'
import { defineResource, type TemplateResource } from '../../declarations/resource.ts'
import { reportToolFailure, subjectOf, toolFailure } from '../../engine/failure.ts'
import type { Plugin, Runtime } from '../../plugin.ts'
import { DeveloperError, isA, McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { CallToolResult, Result } from '../../protocol/types.ts'
import { readResult, type Variables } from './read-result.ts'
import { ResultWriter } from './replace-large-results.ts'
import type { Replacements } from './store-blocks.ts'
import { keyOf, ownerOf } from './stored-object.ts'
import { allowStoredResults, cancelStreams, pendingOf } from './stored-result.ts'

/** Configures `resultStore()`. */
export type ResultStoreOptions = {
  /** The R2 bucket, or a function that returns it from the bindings of the Worker. Buckets can be shared with other data: see `prefix`. */
  bucket: R2Bucket | ((env: Cloudflare.Env) => R2Bucket)
  /**
   * Bytes of a result that are sent. Beyond them, content blocks are stored until the rest fits: the largest ones one by one, many small ones
   * together. Default: 256 KiB.
   */
  overBytes?: number
  /** Characters of a stored text that the result keeps. 0: none. Default: 1,000. */
  previewCharacters?: number
  /** Bytes of a stored text that one read returns, unless its URI has `length`; at most 1 MiB. Default: 64 KiB. */
  pageBytes?: number
  /** Bytes of one stored content. A stream with more fails. Default: 1 GiB. */
  maxStoredBytes?: number
  /** Time for which a stored result can be read. Default: 1 day. */
  ttl?: Duration
  /** Start of the keys in the bucket. Default: `results/`. */
  prefix?: string
}

const kinds: KindsOf<ResultStoreOptions> = {
  bucket: kind.required([
    (value) => typeof value === 'function' || kind.having('createMultipartUpload', '')[0](value),
    'an R2 bucket such as env.RESULTS, or a function (env) => env.RESULTS',
  ]),
  overBytes: kind.count,
  previewCharacters: kind.size,
  pageBytes: [(value) => kind.count[0](value) && Number(value) <= 1024 * 1024, 'a whole number from 1 to 1048576'],
  maxStoredBytes: kind.count,
  ttl: kind.duration,
  prefix: kind.string,
}

/** The options, with their defaults. */
export type Settings = Required<Omit<ResultStoreOptions, 'bucket' | 'ttl'>> & {
  readonly ttlMs: number
  bucket(): R2Bucket
}

/** @param envNow returns the bindings of the Worker */
export function resultStorePlugin(options: ResultStoreOptions, envNow: () => Cloudflare.Env): Plugin {
  checkOptions('resultStore()', options, kinds)
  const { overBytes = 262_144, previewCharacters = 1000, pageBytes = 65_536, maxStoredBytes = 2 ** 30 } = options
  const { ttl = '1d', prefix = 'results/' } = options
  const settings: Settings = {
    overBytes,
    previewCharacters,
    pageBytes,
    maxStoredBytes,
    ttlMs: milliseconds(ttl, 'ttl of resultStore()'),
    prefix,
    bucket() {
      const bucket = typeof options.bucket === 'function' ? options.bucket(envNow()) : options.bucket
      if (bucket) return bucket
      throw new Error(
        'bucket of resultStore() returned undefined: declare the bucket in [[r2_buckets]] of wrangler.toml',
      )
    },
  }
  allowStoredResults()
  return {
    name: 'resultStore',
    variant: prefix,
    templates: (runtime) => [templateOf(runtime, settings)],
    interceptor: (runtime) => async (call, next) => {
      const outcome = await next()
      if (call.method === 'prompts/get' && outcome.type === 'result') await refusePending(outcome.result)
      if (call.method !== 'tools/call' || outcome.type !== 'result' || !isToolResult(outcome.result)) return outcome
      const { result } = outcome
      const writer = new ResultWriter(runtime, settings, call)
      let stored: Replacements
      try {
        stored = await writer.storePending(result)
      } catch (thrown) {
        return failedOutcome(runtime, call, thrown)
      }
      const fitted = await writer.shrink(result, stored)
      return fitted === result ? outcome : { ...outcome, result: fitted }
    },
  }
}

/** Not that of a call that started a task. */
const isToolResult = (result: Result): result is Result & CallToolResult => Array.isArray(result.content)

/** Returns the outcome of a tool whose content could not be stored: that of a tool that throws. @throws McpError */
function failedOutcome({ declarations, report }: Runtime, call: CallInfo, thrown: unknown): ResultOutcome {
  if (isA(McpError, thrown)) throw thrown
  const result = toolFailure(thrown, () => reportToolFailure(declarations, call, subjectOf(call), thrown, report))
  return { type: 'result', result, cause: thrown }
}

/** @throws DeveloperError for what `storedResult()` returned to a prompt, whose streams it cancels */
async function refusePending({ messages }: Result): Promise<void> {
  const blocks = Array.isArray(messages) ? messages.map(({ content }) => content).filter(isObject) : []
  const refused = blocks.flatMap((block) => pendingOf(block) ?? [])
  if (refused.length === 0) return
  await cancelStreams(refused)
  throw new DeveloperError('A prompt cannot contain storedResult(): return it from a tool')
}

/** Callers of every scope may read: each stored result has the scopes of its tool. */
function templateOf(runtime: Runtime, settings: Settings): TemplateResource {
  const definition = {
    name: 'result',
    title: 'Stored result',
    description:
      'A large result of a tool. offset and length select bytes; without them, the first ones are returned, with the URI of the next ones.',
  }
  const resource = defineResource('result://{id}{?offset,length}', definition, async (variables: Variables, ctx) => {
    const owner = await ownerOf(runtime, ctx.principal)
    const key = async (id: string) => keyOf(settings.prefix, owner, id)
    return readResult(settings.bucket(), key, variables, ctx, settings.pageBytes)
  })
  return { ...resource, scopes: [] } as TemplateResource // its URI has variables
}
