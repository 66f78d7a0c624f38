import { isObject } from '../../protocol/jsonrpc.ts'
import { canHaveBody, isSamePlace, type Operation, type OperationParameter } from './operation-type.ts'
import { isHeaderName } from './reserved-headers.ts'

/** The names of a path's parameters. */
export const namesInPath = (path: string): string[] => [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => name)

/** @throws Error for an operation with an argument that no request could carry */
export function refuseLostArguments(operation: Operation): void {
  refuseUnknownPlaces(operation)
  refuseSharedPlaces(operation)
  refuseLostBody(operation)
  refuseUnplaced(operation)
}

const places: readonly string[] = ['path', 'query', 'querystring', 'header']

/** For operations that the compiler has not checked. */
function refuseUnknownPlaces({ name, parameters }: Operation): void {
  for (const [argument, parameter] of Object.entries(parameters)) {
    const place = String(parameter.in)
    const what = `openApiTools(): the argument "${argument}" of "${name}"`
    if (place === 'cookie') {
      throw new Error(`${what} is a cookie, which only the server may set: leave it out, and send it by "headers"`)
    }
    if (!places.includes(place)) {
      throw new Error(`${what} is in "${place}": write "path", "query", "querystring" or "header"`)
    }
    if (typeof parameter.name !== 'string') throw new Error(`${what} has no name in the request: add "name"`)
    if (place === 'header' && !isHeaderName(parameter.name)) {
      throw new Error(`${what} is never sent: no header can have the name "${parameter.name}"`)
    }
  }
}

function refuseSharedPlaces({ name, parameters }: Operation): void {
  const all = Object.entries(parameters)
  for (const [index, [argument, parameter]] of all.entries()) {
    const [before] = all.slice(0, index).find(([, other]) => isSamePlace(other, parameter)) ?? []
    if (before === undefined) continue
    throw new Error(
      `openApiTools(): the arguments "${before}" and "${argument}" of "${name}" would both be sent as the ${described(parameter)}: leave one out`,
    )
  }
}

const described = ({ in: place, name }: OperationParameter): string =>
  place === 'header' ? `header "${name}"` : `${place} parameter "${name}"`

function refuseLostBody({ name, method, parameters, hasBody }: Operation): void {
  if (!hasBody) return
  if (!canHaveBody(method)) {
    throw new Error(
      `openApiTools(): "${name}" has a body, which a ${method.toUpperCase()} request cannot have: set hasBody to false, or use another method`,
    )
  }
  const other = Object.hasOwn(parameters, 'body') ? parameters.body : undefined
  if (!other) return
  throw new Error(
    `openApiTools(): the argument "body" of "${name}" is its body and the ${described(other)}: give the parameter another argument`,
  )
}

function refuseUnplaced({ name, path, parameters, hasBody, input }: Operation): void {
  const inPath = new Set(namesInPath(path))
  for (const [argument, { in: place, name: own }] of Object.entries(parameters)) {
    if (place !== 'path' || inPath.has(own)) continue
    throw new Error(
      `openApiTools(): the argument "${argument}" of "${name}" is never sent: its path "${path}" has no {${own}}`,
    )
  }
  const { properties } = input
  for (const argument of Object.keys(isObject(properties) ? properties : {})) {
    if (Object.hasOwn(parameters, argument) || inPath.has(argument) || (hasBody && argument === 'body')) continue
    throw new Error(
      `openApiTools(): the argument "${argument}" of "${name}" is never sent: add it to "parameters", or set hasBody for "body"`,
    )
  }
}
