/** Reads the files of a folder of skills. */
import { lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { maxBytes } from '../../worker/plugins/skills/read-skills.ts'
import { CliError } from '../cli-error.ts'
import { fileError, isFileError, isInside, readFile, withPath } from '../files.ts'

export type SkillsFolder = {
  /** Contents of the files, by path below the folder, with `/` between folders. */
  readonly files: ReadonlyMap<string, Uint8Array>
  /** Real paths of the folder, and of all files and folders that are read. */
  readonly realPaths: readonly string[]
}

/**
 * Reads all files below a folder, except files and folders whose names begin with a dot. Follows symbolic links.
 *
 * @throws CliError that names the file, for a symbolic link that leads nowhere or in a loop, for a name that is not UTF-8, for a
 * file that is larger than a skill, and for one that cannot be read
 */
export function readFolder(folder: string): SkillsFolder {
  if (!withPath('read', folder, () => isFolder(folder))) {
    throw new CliError(`${folder} is not a folder: give the path of the folder that contains the skill folders.`)
  }
  const files = new Map<string, Uint8Array>()
  const realPaths: string[] = []

  /** @param above the real paths of the parent folders */
  function visit(path: string, above: readonly string[]): void {
    const place = join(folder, path)
    const realPath = resolveLinks(place)
    realPaths.push(realPath)
    if (!isFolder(place)) {
      // Neither a file nor a folder: a socket, for example.
      const found = statSync(place)
      if (!found.isFile()) return
      if (found.size > maxBytes) {
        throw new CliError(
          `"${place}" has ${found.size} bytes: clients accept at most ${maxBytes} bytes of a skill. Remove the file.`,
        )
      }
      files.set(path, new Uint8Array(readFile(place)))
      return
    }
    if (above.some((outer) => isInside(realPath, outer))) {
      throw new CliError(
        `"${place}" is a symbolic link to a folder that contains the link: correct or remove the link.`,
      )
    }
    for (const name of namesIn(place)) visit(path === '' ? name : `${path}/${name}`, [...above, realPath])
  }

  visit('', [])
  return { files, realPaths }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** @throws CliError for a symbolic link without a target, or in a loop */
function resolveLinks(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    if (!isFileError(error)) throw error
    if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) throw fileError('read', path, error.code)
    if (error.code === 'ELOOP') {
      throw new CliError(`"${path}" is a symbolic link that leads to itself: correct or remove the link.`)
    }
    if (error.code !== 'ENOENT') throw fileError('read', path, error.code)
    throw new CliError(
      `"${path}" is a symbolic link to "${readlinkSync(path)}", which does not exist: correct or remove the link.`,
    )
  }
}

/** The names in a folder, without those that begin with a dot. @throws CliError for a name that is not UTF-8 */
function namesIn(folder: string): string[] {
  const names = withPath('read', folder, () => readdirSync(folder, { encoding: 'buffer' }))
  return names.filter((bytes) => bytes[0] !== dot).map((bytes) => nameOf(folder, bytes))
}

const dot = 0x2e

function nameOf(folder: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    const shown = [...bytes].map((byte) =>
      byte < 0x20 || byte > 0x7e ? `\\x${byte.toString(16).padStart(2, '0')}` : String.fromCharCode(byte),
    )
    throw new CliError(`The name "${join(folder, shown.join(''))}" is not UTF-8: rename the file.`)
  }
}
