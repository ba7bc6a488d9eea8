package sink

import (
	_ "embed"
	"strings"
)

//go:embed questions.sql
var questionsSQL string

// Question is what an analyst asks, with the query over the views that answers
// it.
type Question struct {
	Title string
	SQL   string // one SELECT without a semicolon
}

// Questions returns the questions that the views were made for, each with its
// query.
func Questions() []Question {
	const mark = "-- ? "
	var questions []Question
	for i, part := range strings.Split("\n"+questionsSQL, "\n"+mark) {
		title, sql, _ := strings.Cut(part, "\n")
		if i > 0 { // before the first mark stands the file's comment
			questions = append(questions, Question{Title: title, SQL: strings.TrimSuffix(strings.TrimSpace(sql), ";")})
		}
	}
	return questions
}
