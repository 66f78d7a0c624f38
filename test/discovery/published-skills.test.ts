import { describe, expect, test } from 'vitest'
import type { Server } from '../../worker/declarations/server.ts'
import {
  artifactOf,
  declaredSkills,
  isOpenToAll,
  isReadableByAll,
} from '../../worker/plugins/discovery/published-skills.ts'
import { type Skill, type SkillsOptions, skills } from '../../worker/plugins/skills/index.ts'
import { newServer } from '../engine/stage.ts'

const skill = (folder: string, paths: readonly string[] = ['SKILL.md']): Skill => ({
  folder,
  frontmatter: { name: folder.split('/').at(-1) ?? '', description: `About ${folder}` },
  files: paths.map((path) => ({ path, digest: `sha256:${'0'.repeat(64)}`, size: 1, text: path })),
})

const serverWith = (list: readonly Skill[], options?: SkillsOptions): Server => newServer().use(skills(list, options))
const described = (server: Server) =>
  declaredSkills(server.declarations).map(({ name, path, files }) => [name, path, files.map((file) => file.path)])

describe('published skills', () => {
  test('are those of skills(), and not other resources of its scheme', () => {
    const server = newServer()
    server.resource('skill://tea/SKILL.md', { description: 'Tea' }, () => 'Tea')
    expect(described(server)).toEqual([])
  })

  test('have the files that belong to no skill inside of them', () => {
    const list = [skill('tea', ['SKILL.md', 'pots.md']), skill('tea/green', ['SKILL.md']), skill('green-tea')]
    expect(described(serverWith(list))).toEqual([
      ['tea', '/.well-known/agent-skills/tea.zip', ['SKILL.md', 'pots.md']],
      ['green', '/.well-known/agent-skills/green/SKILL.md', ['SKILL.md']],
      ['green-tea', '/.well-known/agent-skills/green-tea/SKILL.md', ['SKILL.md']],
    ])
  })

  test.each(['Tea', 'green_tea', '-tea', 'tea--pot', 'tea-', 'té', 'a'.repeat(65)])(
    'lack a skill whose name the index cannot have: %s',
    (folder) => {
      expect(described(serverWith([skill(folder)]))).toEqual([])
    },
  )

  test('lack resources whose URI is not the path of a file', () => {
    const server = serverWith([skill('tea')])
    for (const uri of ['skill://tea/a%5Cb', 'skill://tea/%zz', 'skill://tea/%2Fetc', 'skill://tea/a//b']) {
      server.resource(uri, { description: 'Odd' }, () => 'odd')
    }
    expect(described(server)).toEqual([['tea', '/.well-known/agent-skills/tea/SKILL.md', ['SKILL.md']]])
  })

  test('are readable by all without scopes only', async () => {
    const [open] = declaredSkills(serverWith([skill('tea')]).declarations)
    const [closed] = declaredSkills(serverWith([skill('tea')], { scopes: ['tea'] }).declarations)
    expect(open && [isOpenToAll(open), await isReadableByAll(open)]).toEqual([true, true])
    expect(closed && [isOpenToAll(closed), await isReadableByAll(closed)]).toEqual([false, false])
  })

  test.each([
    [false, false],
    [true, true],
  ])('have a file whose visibleTo returns %s for a caller without a token', async (isVisible, isReadable) => {
    const server = serverWith([skill('tea')])
    server.resource('skill://tea/pots.md', { description: 'Pots', visibleTo: () => isVisible }, () => 'Pots')
    const [tea] = declaredSkills(server.declarations)
    expect(tea && [isOpenToAll(tea), await isReadableByAll(tea)]).toEqual([false, isReadable])
  })

  test('are not made of other contents than texts and bytes', async () => {
    const server = serverWith([skill('tea')])
    server.resource('skill://tea/pots.md', { description: 'Pots' }, () => [{ text: 'Pots' }])
    const [tea] = declaredSkills(server.declarations)
    await expect(tea && artifactOf(tea)).rejects.toThrow(
      'skill://tea/pots.md of the skill "tea" is neither a text nor bytes, so discovery() cannot publish it',
    )
  })
})
