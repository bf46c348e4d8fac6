#!/bin/sh
echo "script $1"; id -un
