/** Access to the file system for commands: its errors become a CliError that names the file and the fix. */
import { lstatSync, mkdirSync, readFileSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { CliError } from './cli-error.ts'

/** @throws CliError when the file cannot be read */
export const readFile = (path: string): Buffer => withPath('read', path, () => readFileSync(path))

/**
 * Writes a file, with the folders above it.
 *
 * @param flag of `writeFileSync`. Default: `w`, which overwrites
 * @throws CliError when the file cannot be written
 */
export function writeFile(path: string, text: string, flag = 'w'): void {
  try {
    mkdirSync(dirname(path), { recursive: true })
  } catch (error) {
    if (!isFileError(error)) throw error
    // The system's code for a parent that is a file depends on the depth of the path.
    throw fileError('write', path, error.code === 'EEXIST' ? 'ENOTDIR' : error.code)
  }
  withPath('write', path, () => writeFileSync(path, text, { flag }))
}

/**
 * Runs an operation of the file system.
 *
 * @param verb what the operation does to the path, for the error
 * @throws CliError when the file system refuses; other errors are passed on
 */
export function withPath<T>(verb: string, path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw isFileError(error) ? fileError(verb, path, error.code) : error
  }
}

/** Is this an error of the file system, such as ENOENT? */
export const isFileError = (error: unknown): error is Error & { code: string; path?: string } =>
  error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string'

/** Returns the error of a command for an error of the file system. */
export function fileError(verb: string, path: string, code: string): CliError {
  const [problem, fix] = problems.get(code) ?? ['the operating system refused it', 'Look up the code, and try again.']
  return new CliError(`Cannot ${verb} "${path}": ${problem} (${code}). ${fix}`)
}

const problems: ReadonlyMap<string, readonly [problem: string, fix: string]> = new Map([
  ['ENOENT', ['it does not exist', 'Check the path and its symbolic links.']],
  ['ENOTDIR', ['a part of the path is a file, not a folder', 'Choose another path.']],
  ['EEXIST', ['a file already exists there', 'Choose another path, or remove the file.']],
  ['EISDIR', ['it is a folder', 'Name a file.']],
  ['ELOOP', ['its symbolic links form a loop', 'Correct or remove the links.']],
  ['ENAMETOOLONG', ['a name in the path is too long', 'Choose a shorter one.']],
  ['EACCES', ['permission is denied', 'Change the permissions, or choose another path.']],
  ['EPERM', ['permission is denied', 'Change the permissions, or choose another path.']],
  ['EROFS', ['the file system is read-only', 'Choose another path.']],
  ['ENOSPC', ['the disk is full', 'Free some space, and try again.']],
])

/**
 * Returns the absolute path without symbolic links, also of a file that does not exist yet.
 *
 * @throws CliError when the path cannot be resolved
 */
export function realPathOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    if (!isFileError(error)) throw error
    if (error.code !== 'ENOENT') throw fileError('write', path, error.code)
  }
  // A link to a file that does not exist yet: writing to the link makes that file.
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) {
    return realPathOf(resolve(realPathOf(dirname(path)), readlinkSync(path)))
  }
  return join(realPathOf(dirname(path)), basename(path))
}

/** Is a path in a folder, or the folder itself? Both are absolute. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}
