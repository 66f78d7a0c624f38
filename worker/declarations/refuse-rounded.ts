import { ToolError } from '../protocol/errors.ts'
import { preview } from './check-options.ts'

/** @throws ToolError for a number that JavaScript rounds as it reads the call: a request with it would name another record */
export function refuseRounded(args: unknown): void {
  const path = roundedIn(args)?.join('.')
  if (path === undefined) return
  throw new ToolError(
    `${preview(path)} must be between ${Number.MIN_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER}, because this server rounds other numbers`,
  )
}

/** JavaScript writes numbers from here on with an exponent: they are quantities, not ids. */
const firstWithExponent = 1e21

/** Returns the path of the first number that may have been rounded from an id, or that is infinite. */
function roundedIn(value: unknown): string[] | undefined {
  if (typeof value === 'number') {
    const size = Math.abs(value)
    const isQuantity = size >= firstWithExponent && Number.isFinite(value)
    return size > Number.MAX_SAFE_INTEGER && !isQuantity ? [] : undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  for (const name of Object.keys(value)) {
    const path = roundedIn(Reflect.get(value, name))
    if (path) return [name, ...path]
  }
  return undefined
}
