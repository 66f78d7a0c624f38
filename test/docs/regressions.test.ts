/** test/regressions.md names, for each defect, the test that fails when the defect comes back. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from './pages.ts'

type Row = { readonly defect: string; readonly file: string; readonly name: string }

/** `| defect | `test/file.test.ts` › test name |`, several tests separated by `<br>`. */
const rows: readonly Row[] = readFileSync(join(root, 'test/regressions.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('|') && line.includes('`test/'))
  .flatMap((line) => {
    const [, defect = '', tests = ''] = line.split(/(?<!\\)\|/).map((cell) => cell.trim())
    return tests.split('<br>').map((entry) => {
      const [file = '', ...name] = entry.split(' › ')
      return { defect, file: file.replaceAll('`', '').trim(), name: name.join(' › ').replaceAll('\\|', '|').trim() }
    })
  })

describe('test/regressions.md', () => {
  test('has rows', () => {
    expect(rows.length).toBeGreaterThan(50)
  })

  test.each(rows)('$file $name', ({ file, name }) => {
    expect(existsSync(join(root, file)), `there is no ${file}`).toBe(true)
    const source = readFileSync(join(root, file), 'utf8').replaceAll("\\'", "'")
    expect(source.includes(name), `${file} has no test named "${name}"`).toBe(true)
  })
})
