import type { JsonSchema, ToolAnnotations } from '../../protocol/types.ts'

export type OperationParameter = Operation['parameters'][string]

/** Whether two parameters are the same. Names of headers ignore case. */
export const isSamePlace = (one: OperationParameter, other: OperationParameter): boolean =>
  one.in === other.in &&
  (one.name === other.name || (one.in === 'header' && one.name.toLowerCase() === other.name.toLowerCase()))

/** Whether `fetch` sends a body with a method. */
export const canHaveBody = (method: string): boolean => !/^(?:get|head)$/i.test(method)

/** Describes one operation of an API, as `parseOpenApi` returns it. It is JSON. */
export type Operation = {
  /** Name of the tool. */
  readonly name: string
  /** Description of the tool. */
  readonly description: string
  /** The HTTP method, in upper case. */
  readonly method: string
  /** The path, with its parameters in braces. */
  readonly path: string
  /** The place of each argument in the request, by argument: its kind, its name there, and its format. */
  readonly parameters: Readonly<
    Record<
      string,
      {
        /** `querystring`: the argument is an object, whose members are the parameters of the query. */
        in: 'path' | 'query' | 'querystring' | 'header'
        /** Without a meaning in a `querystring`. */
        name: string
        /** Separator of the entries of a list in a query. Default: each entry is a parameter of its own. */
        separator?: ',' | ' ' | '|'
      }
    >
  >
  /** Whether the argument `body` is sent as JSON. */
  readonly hasBody: boolean
  /** Media type of that JSON. Default: `application/json`. */
  readonly bodyType?: string
  /** The schema of the arguments. */
  readonly input: JsonSchema
  /** Hints about side effects, from the HTTP method. */
  readonly annotations: ToolAnnotations
}
