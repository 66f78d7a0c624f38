import { execFileSync } from 'node:child_process'
import { Folder } from '../bench/folder.ts'

/** Returns a folder with the sources of a commit, which is deleted when the process ends. */
export function sourceOf(commit: string): string {
  const { path } = new Folder()
  const sources = ['worker', 'durable-objects', 'package.json']
  const archive = execFileSync('git', ['archive', commit, ...sources], { maxBuffer: 2 ** 30 })
  execFileSync('tar', ['-x', '-C', path], { input: archive })
  return path
}
