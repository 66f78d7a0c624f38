import { readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { CliError } from '../cli-error.ts'
import { fileError, isFileError } from '../files.ts'
import { parseYaml } from '../yaml.ts'

/**
 * Reads a document as JSON, from JSON or YAML.
 *
 * @throws CliError when there is no such file, or it cannot be read
 */
export function readDocument(path: string): unknown {
  const text = readText(path)
  const isJson = extname(path).toLowerCase() === '.json'
  try {
    return isJson ? JSON.parse(text) : parseYaml(text, { merge: true })
  } catch (problem) {
    throw new CliError(`${path} is not valid ${isJson ? 'JSON' : 'YAML'}: ${(problem as Error).message.trimEnd()}`)
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (problem) {
    if (!isFileError(problem)) throw problem
    if (problem.code === 'ENOENT') throw new CliError(`There is no file ${path}.`)
    if (problem.code === 'EISDIR') throw new CliError(`${path} is a folder: give the path of the document in it.`)
    throw fileError('read', path, problem.code)
  }
}
