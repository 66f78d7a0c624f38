/** Validates definitions of tools, resources and prompts: names and values of their members. */

import type { AccessOptions, RateLimit } from './caller.ts'
import { checkOptions, checkValue, isObject, type Kind, type KindsOf } from './check-options.ts'
import * as kind from './option-kinds.ts'
import { describing } from './optional-members.ts'
import { type Declared, refuseOtherDefinition } from './other-libraries.ts'
import type { PromptDefinition } from './prompt.ts'
import type { ResourceDefinition } from './resource.ts'
import type { Schema } from './schema.ts'
import type { TaskOptions, ToolDefinition } from './tool.ts'

const matching = (pattern: RegExp, expected: string): Kind => [
  (value) => typeof value === 'string' && pattern.test(value),
  expected,
]

const visibility: KindsOf<AccessOptions> = {
  scopes: kind.scopes,
  rateLimit: kind.object(
    {
      rate: matching(/^[1-9]\d{0,8}\/(10s|m)$/, "a string such as '60/m' or '10/10s'"),
      quota: matching(/^[1-9]\d{0,8}\/[mhd]$/, "a string such as '10/m', '100/h' or '1000/d'"),
      concurrent: kind.atLeastOne,
    } satisfies KindsOf<RateLimit>,
    "an object such as { rate: '60/m' }",
  ),
  listWithoutScopes: kind.flag,
  visibleTo: [
    kind.fn[0],
    'a function of the caller; to enable and disable it while the server runs, write enabled: false',
  ],
  enabled: [kind.flag[0], 'true or false (visibleTo decides by caller)'],
}

/** A schema is compiled later. A falsy value would count as no schema. */
const schema: Kind = [Boolean, 'a schema']
const item = { title: kind.string, description: kind.string, icons: kind.icons, _meta: kind.object() }

const kinds = {
  tool: {
    ...item,
    inputSchema: schema,
    outputSchema: schema,
    annotations: kind.toolAnnotations,
    singleUse: kind.flag,
    task: [
      (value) => typeof value === 'boolean' || isObject(value),
      "true, false or an object such as { ttl: '1h' }",
      {
        required: kind.flag,
        answerWithin: kind.duration,
        ttl: kind.duration,
        pollInterval: kind.duration,
        retries: kind.size,
      } satisfies KindsOf<TaskOptions>,
    ],
    ...visibility,
  } satisfies KindsOf<ToolDefinition<Schema, Schema>>,
  resource: {
    ...describing,
    name: kind.name,
    caching: kind.caching,
    authorize: kind.fn,
    filterCompletions: kind.flag,
    list: kind.fn,
    complete: kind.functions,
    ...visibility,
  } satisfies KindsOf<ResourceDefinition<string>>,
  prompt: { ...item, argsSchema: schema, complete: kind.functions, ...visibility } satisfies KindsOf<
    PromptDefinition<Schema>
  >,
}

/** @throws Error for a definition that is not an object, and for a member with an unknown name or a wrong value */
export function checkDefinition(declared: Declared, ownName: string, definition: unknown, prefix = ''): void {
  // A prefix would make a text of another value.
  checkValue(`server.${declared}()`, declared === 'resource' ? 'uri' : 'name', ownName, kind.string)
  const name = prefix + ownName
  if (globalThis.process?.env?.NODE_ENV !== 'production') refuseOtherDefinition(declared, name, definition)
  checkOptions(`${declared} "${name}"`, definition, kinds[declared])
}
