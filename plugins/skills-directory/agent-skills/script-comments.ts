/** The maximum length of a script's description, in characters. */
const aboutMax = 500

/** Paragraphs that do not describe a script: licences, usages, settings of linters and the like. */
const noise = [
  /^(?:copyright|©|\(c\)|licen[cs]ed?\b|spdx-|all rights reserved|permission is hereby granted)/i,
  /^this (?:file|program) is (?:part of|free software)/i,
  /^(?:usage|examples?|requires?|requirements|dependencies|prerequisites)\s*:/i,
  /^(?:install(?:ation)?|authors?|version|date|todo|note)\s*:/i,
  /^(?:-\*-|vim?:|coding[:=]|shellcheck |eslint|prettier|@ts-|@license|@preserve|@flow|@format)/i,
  /^(?:pylint|pyright|type:\s*ignore|noqa|mypy|ruff|fmt:|region|global )/i,
  /^\/\/\/? /,
  /^(?:exit|stop|fail|abort|die|quit)\b[^.]*\b(?:on|if|when|upon|at)\b[^.]*\b(?:errors?|fails?|failures?|unset)\b/i,
  /^(?:be |use )?(?:strict|safe|safer|fail-fast|unofficial)[^.]*\bmode\b/i,
  /^(?:fail fast|safety|constants|imports?|config(?:uration)?|variables|globals|colou?rs|setup)\b[^.]{0,60}$/i,
  /^[-=#*_~+/\\|\s]*$/
]

/** The first paragraph of a text that describes the script, in one line; empty when there is none. */
export function aboutOf (text: string): string {
  for (const block of text.split(/\n\s*\n/)) {
    const lines = block
      .split('\n')
      .map(line => line.replace(/^[\s=#*~-]{3,}$/, '').trim())
      .filter(line => line !== '')
    const [first = ''] = lines
    if (lines.length === 0 || noise.some(pattern => pattern.test(first.slice(0, 300)))) continue
    const end = lines.findIndex(line => /^(?:usage|examples?)\s*:/i.test(line))
    const about = sentences(end < 0 ? lines : lines.slice(0, end))
    return about.length > aboutMax ? `${about.slice(0, aboutMax - 1)}…` : about
  }
  return ''
}

/** Joins lines to a running text. A short first line above a sentence is a title, and gets a full stop. */
function sentences ([title = '', ...lines]: readonly string[]): string {
  const titled = title.length < 60 && /[\w)]$/.test(title) && /^[A-Z]/.test(lines[0] ?? '')
  return [titled ? `${title}.` : title, ...lines].join(' ').replace(/\s+/g, ' ')
}

/**
 * The comment at the beginning of a script that is about the whole script: the first comment of the file, or a comment
 * with an empty line after it. A comment without an empty line is about the line that follows it.
 * @param mark the sign that begins a comment
 * @returns the text of the comment without the marks
 */
export function headComment (text: string, mark: '#' | '//'): string {
  const code = text.replace(/^\uFEFF/, '').replace(/^#![^\n]*(?:\n|$)/, '')
  const [, block] = mark === '//' ? (/^\s*(?:['"]use strict['"];?\s*)?\/\*+([\s\S]*?)\*\//.exec(code) ?? []) : []
  if (block !== undefined) return block.replace(/^[ \t]*\* ?/gm, '').trim()
  const lines = code.split(/\r?\n/).slice(0, 200)
  const paragraphs: string[] = []
  for (let i = 0; i < lines.length;) {
    while (lines[i]?.trim() === '') i++
    const from = i
    while (lines[i]?.trimStart().startsWith(mark) === true) i++
    if (i === from) break
    const attached = i < lines.length && lines[i]?.trim() !== ''
    if (!attached || from === 0)
      paragraphs.push(
        lines
          .slice(from, i)
          .map(line => line.trim().replace(/^(?:#+|\/\/+)[ \t]?/, ''))
          .join('\n')
      )
    if (attached) break
  }
  return paragraphs.join('\n\n').trim()
}
