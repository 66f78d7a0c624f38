import { readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { parse } from 'yaml'
import { CliError } from '../cli-error.ts'

/**
 * A document as JSON, whatever it is written in.
 *
 * @throws Refusal when there is no such file, or it cannot be read
 */
export function readDocument(path: string): unknown {
  const text = readText(path)
  const isJson = extname(path).toLowerCase() === '.json'
  try {
    // YAML may have what JSON has not, such as a part of itself.
    return isJson ? JSON.parse(text) : JSON.parse(JSON.stringify(parse(text, { merge: true }) ?? null))
  } catch (problem) {
    throw new CliError(`${path} is no ${isJson ? 'JSON' : 'YAML'}: ${(problem as Error).message.trimEnd()}`)
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (problem) {
    const { code } = problem as { code?: string }
    if (code === 'ENOENT') throw new CliError(`There is no file ${path}.`)
    if (code === 'EISDIR') throw new CliError(`${path} is a folder: name the document in it.`)
    throw problem
  }
}
