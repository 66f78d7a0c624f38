/**
 * Returns the one of these paths that a request is for, as the router of `serve()` decides: slashes at the end do not count. Every comparison
 * of a request with the path of an endpoint uses it.
 */
export function matchPath(pathname: string, paths: readonly string[]): string | undefined {
  const requested = withoutLastSlashes(pathname)
  return paths.find((path) => withoutLastSlashes(path) === requested)
}

// Without the lookbehind, a long run of slashes takes quadratic time.
const withoutLastSlashes = (path: string) => path.replace(/(?<!\/)\/+$/, '')
